package webui

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/api"
)

const notUTF8 = "is not UTF-8, which JSON cannot hold: encode it, for example as base64"

func (k *kit) nothingStored() {
	k.t.Helper()
	counts, err := k.inspector.Counts(k.ctx())
	require.NoError(k.t, err)
	assert.Zero(k.t, counts.Queued+counts.Scheduled)
}

func TestABodyThatIsNotUTF8IsRefusedByEachPost(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	posts := 0
	for _, route := range api.Routes() {
		if !route.Acts() {
			continue
		}
		posts++
		for _, query := range []string{"", "?id=a&name=mail&key=k&rule=r&force=true"} {
			got := k.call(http.MethodPost, strings.TrimPrefix(route.Path, "/api/")+query, "{\"id\":\"file-\xe9\"}")
			got.problem(t, http.StatusBadRequest, "the body "+notUTF8)
		}
	}
	assert.Greater(t, posts, 30)
	for _, name := range []string{"file-\xe9", "file-\xe8"} {
		for _, body := range []string{`{"name":"mail","id":"` + name + `"}`,
			`{"name":"mail","args":["` + name + `"]}`} {
			for _, key := range []string{"", name} {
				k.order(body, key).problem(t, http.StatusBadRequest, "the body "+notUTF8)
			}
		}
	}
	k.nothingStored()
}

// Two texts would become one, or two members would: which of them was meant nobody knows.
func TestWhatABodySaysIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	for name, row := range map[string]struct{ to, body, says string }{
		"an id":                 {"jobs", `{"name":"mail","id":"a\ud800"}`, `"id" has half of a surrogate pair`},
		"a name":                {"jobs", `{"name":"\udce9"}`, `"name" has half`},
		"a key":                 {"jobs", `{"name":"mail","key":"\udce9"}`, `"key" has half`},
		"a tag":                 {"jobs", `{"name":"mail","tags":["a","\udce9"]}`, `"tags[1]" has half`},
		"a label":               {"jobs", `{"name":"mail","needs":["\udce9"]}`, `"needs[0]" has half`},
		"a value of meta":       {"jobs", `{"name":"mail","meta":{"a":"\udce9"}}`, `"meta.a" has half`},
		"a name in meta":        {"jobs", `{"name":"mail","meta":{"a":"b","\udce9":"c"}}`, `has half`},
		"a key of unique jobs":  {"jobs", `{"name":"mail","unique":{"key":"\udce9"}}`, `"unique.key" has half`},
		"a message":             {"job-send?id=a", `{"name":"\udce9"}`, `"name" has half`},
		"ids":                   {"jobs-act", `{"action":"retry","ids":["\udce9"]}`, `"ids[0]" has half`},
		"a schedule":            {"schedules?force=true", `{"spec":"@daily","id":"\udce9"}`, `"id" has half`},
		"another case":          {"jobs", `{"name":"mail","ID":"a"}`, `the body has the member "ID": write it as "id"`},
		"a K of Kelvin":         {"jobs", `{"name":"mail","\u212aey":"a"}`, `write it as "key"`},
		"another case, deeper":  {"jobs", `{"name":"mail","unique":{"KEY":"a"}}`, `"unique.KEY": write it as "key"`},
		"another case of args":  {"job-args?id=a", `{"Args":[1]}`, `write it as "args"`},
		"another case of rate":  {"queue-limit?name=mail&force=true", `{"Rate":1}`, `write it as "rate"`},
		"twice":                 {"jobs", `{"name":"mail","id":"a","id":"b"}`, `the body has the member "id" twice`},
		"twice by an escape":    {"jobs", `{"name":"mail","id":"a","i\u0064":"b"}`, `has the member "id" twice`},
		"twice with one null":   {"jobs", `{"name":"mail","id":"a","id":null}`, `has the member "id" twice`},
		"twice, deeper":         {"jobs", `{"name":"mail","unique":{"key":"a","key":"b"}}`, `"unique.key" twice`},
		"twice in meta":         {"jobs", `{"name":"mail","meta":{"a":"b","a":"c"}}`, `"meta.a" twice`},
		"args that are twice":   {"jobs", `{"name":"mail","args":[1],"args":[2]}`, `"args" twice`},
		"twice in a message":    {"job-send?id=a", `{"name":"a","value":1,"value":2}`, `"value" twice`},
		"twice in the times":    {"job-reschedule?id=a", `{"at":"2041-02-03T04:05:06Z","at":"2041"}`, `"at" twice`},
		"twice in the key":      {"key-limit?name=mail&key=a&force=true", `{"rate":1,"rate":2}`, `"rate" twice`},
		"both another and this": {"jobs", `{"name":"mail","id":"a","Id":"b"}`, `the member "Id": write it as "id"`},
	} {
		t.Run(name, func(t *testing.T) {
			to := row.to
			if to == "jobs" {
				to += "?force=true"
			}
			k.call(http.MethodPost, to, row.body).problem(t, http.StatusBadRequest, row.says)
		})
	}
	k.nothingStored()
}

// Args are the program's: halves of pairs, which other languages write for file names, stay, and stay different.
func TestArgsAreTakenAsTheyAre(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		for _, args := range []string{`["file-\udce9"]`, `["file-\udce8"]`, `["\ufffd",{"A":1,"a":2,"a":3}]`} {
			body := `{"name":"mail","args":` + args + `,"unique":{}}`
			got := k.order(body, "")
			require.Equal(t, http.StatusCreated, got.StatusCode, "%s: %s", args, got.Text)
			job, err := k.inspector.Job(k.ctx(), k.receipt(got).ID)
			require.NoError(t, err)
			assert.Equal(t, args, string(job.Args))
			assert.Equal(t, http.StatusOK, k.order(body, "").StatusCode, "the same again")
		}
		assert.Equal(t, 3, k.waiting("mail"))
	})
}

func TestFormsRefuseJSONThatIsNotUTF8(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	k.takesJobs()
	k.enqueue("a", "mail", 1)
	for target, form := range map[string][]string{
		"job-args?id=a":           {"args", "[\"file-\xe9\"]"},
		"job-send?id=a":           {"name", "go", "value", "\"file-\xe9\""},
		"enqueue?force=true":      {"name", "mail", "args", "[\"file-\xe9\"]"},
		"schedule-add?force=true": {"id", "s", "spec", "@daily", "name", "mail", "args", "[\"file-\xe9\"]"},
	} {
		got := k.post(target, form...)
		assert.Equal(t, http.StatusBadRequest, got.StatusCode, target)
		assert.Contains(t, got.Text, notUTF8, target)
	}
	assert.Equal(t, 1, k.waiting("mail"))
	assert.Equal(t, "[1]", string(k.job("a").Args))
	assert.Empty(t, k.schedules())
}
