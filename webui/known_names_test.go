package webui

import (
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func TestTheAPIRefusesNamesThatNothingHasUnlessForced(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		k.enqueue("a", "export")
		for target, body := range map[string]string{
			"queue-pause?name=exprot": "", "queue-limit?name=exprot": `{"concurrent": 2}`, "jobs": `{"name": "exprot"}`,
		} {
			p := k.call(http.MethodPost, target, body).problem(t, http.StatusBadRequest,
				`no queue, worker, schedule or limit has the name "exprot" (did you mean "export"?); `+
					`?force=true goes on`)
			assert.NotContains(t, p.Detail, "enqueue")
		}
		limits, err := k.inspector.Limits(k.ctx())
		require.NoError(t, err)
		assert.Empty(t, limits, "nothing was done")
		assert.Len(t, k.entries(), 3, "the audit knows of each")

		got := k.call(http.MethodPost, "queue-limit?name=exprot&force=true", `{"concurrent": 2}`)
		require.Equal(t, http.StatusOK, got.StatusCode, got.Text)
		got = k.call(http.MethodPost, "queue-pause?name=exprot", "")
		require.Equal(t, http.StatusOK, got.StatusCode, "now there is a limit of that name")
		got = k.call(http.MethodPost, "jobs?force=true", `{"name": "new"}`)
		require.Equal(t, http.StatusCreated, got.StatusCode, got.Text)
	})
}

func TestAPageAsksOnceMoreAboutANameThatNothingHas(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueue("a", "export")
		got := k.post("queue-limit?name=exp%22rot&back=queues", "concurrent", "2", "rate", "")
		require.Equal(t, http.StatusBadRequest, got.StatusCode)
		assert.Contains(t, got.Text, "did you mean &#34;export&#34;?")
		address := regexp.MustCompile(`action="([^"]*force=true[^"]*)"`).FindStringSubmatch(got.Text)
		require.NotEmpty(t, address, got.Text)
		assert.Contains(t, got.Text, `<input type="hidden" name="concurrent" value="2">`)
		target, err := url.Parse(regexp.MustCompile(`&amp;`).ReplaceAllString(address[1], "&"))
		require.NoError(t, err)
		got = k.post(target.String(), "concurrent", "2", "rate", "")
		require.Equal(t, http.StatusSeeOther, got.StatusCode, got.Text)
		limits, err := k.inspector.Limits(k.ctx())
		require.NoError(t, err)
		require.Len(t, limits, 1)
		assert.Equal(t, `exp"rot`, limits[0].Name)
	})
}
