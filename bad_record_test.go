package work

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

type badRecord struct {
	name   string
	record string // %s is the id
	reason []string
	called bool // an attempt was made, so there is an error beside the reason
}

var badRecords = []badRecord{
	{"not JSON", "PING\r\n", []string{"the record cannot be read: it is not JSON from byte"}, false},
	{"cut off", `{"jid":"%s","name":"takes","args":[1,"a`, []string{"the record cannot be read: it is not JSON from byte"}, false},
	{"empty", "", []string{"the record cannot be read: it is not JSON from byte"}, false},
	{"bytes", "\x00\xff\xfe", []string{"the record cannot be read: it is not JSON from byte"}, false},
	{"null", "null", []string{"the record's args are missing", "JSON array"}, false},
	{"a list", `[1,2]`, []string{"the record is not a JSON object", "a JSON array"}, false},
	{"no args", `{"jid":"%s","name":"takes","t":1}`, []string{"the record's args are missing"}, false},
	{"args no array", `{"jid":"%s","name":"takes","args":{"a":1},"t":1}`, []string{`the record's args are a JSON object`}, false},
	{"a field of another type", `{"jid":"%s","name":"takes","args":[],"t":1,"retries":"many"}`,
		[]string{"a JSON string does not fit the type int of its field retries"}, false},
	{"name of another queue", `{"jid":"%s","name":"other","args":[1,"a"],"t":1}`, []string{"other", "takes"}, false},
	{"first argument", `{"jid":"%s","name":"takes","args":["1","a"],"t":1}`,
		[]string{"argument 1 of ", "is a JSON string", "wanted int64"}, true},
	{"a fraction", `{"jid":"%s","name":"takes","args":[1.5,"a"],"t":1}`, []string{"argument 1 of ", "is a JSON number", "wanted int64"}, true},
	{"null for a number", `{"jid":"%s","name":"takes","args":[null,"a"],"t":1}`, []string{"is null", "wanted int64"}, true},
	{"second argument", `{"jid":"%s","name":"takes","args":[1,[  "x" ]],"t":1,"x":{"unknown":1.0}}`,
		[]string{"argument 2 of ", "is a JSON array", "wanted string"}, true},
	{"too few", `{"jid":"%s","name":"takes","args":[1],"t":1}`, []string{"found 1", "wanted a JSON array of 2 (int64, string)"}, true},
	{"too many", `{"jid":"%s","name":"takes","args":[1,"a",2],"t":1}`, []string{"found 3"}, true},
}

// Jobs that can be read are put between them: none of those is held up.
func TestARecordThatCannotBeRunIsBuriedAtOnceAndKeptByteForByte(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		done := make(chan int64, len(badRecords))
		records := map[string]string{}
		for i, bad := range badRecords {
			id := fmt.Sprintf("bad %d", i)
			records[id] = strings.ReplaceAll(bad.record, "%s", id)
			k.store("takes", id, records[id])
			k.enqueue("takes", i, "good")
		}
		pool := k.start(NewWorkerPool(nil, 3, k.options()).Job("takes", func(n int64, text string) error { done <- n; return nil }))
		k.drained(pool)
		assert.Len(t, done, len(badRecords), "all the good ones and none of the bad")
		assert.Equal(t, len(badRecords), count[event.JobBuried](k.spy))
		assert.Equal(t, len(badRecords), k.number("HLEN", "jobs"))
		for i, bad := range badRecords {
			t.Run(bad.name, func(t *testing.T) { bad.check(t, k, fmt.Sprintf("bad %d", i), records) })
		}
	})
}

func (bad badRecord) check(t *testing.T, k *kit, id string, records map[string]string) {
	assert.Equal(t, records[id], k.text("HGET", "jobs", id))
	k.due("morgue", id)
	kept := k.trail(id)
	for _, part := range bad.reason {
		assert.Contains(t, kept.Reason, part)
	}
	buried := await(t, k.spy, ofJob[event.JobBuried](id))
	assert.Equal(t, kept.Reason, buried.Reason)
	assert.Equal(t, "takes", buried.Name)
	assert.Equal(t, bad.called, buried.Err != nil)
	if !bad.called {
		assert.Empty(t, kept.Errors)
		assert.True(t, buried.Begun.IsZero())
		return
	}
	require.Len(t, kept.Errors, 1)
	assert.True(t, has[*ArgumentError](buried.Err))
}

func TestARecordIsNotTouchedByRetries(t *testing.T) {
	t.Parallel()
	const written = `{"jid": "r", "name": "a", "args": [ 12345678901234567890, 1.0, [] ], "t": 1, "by": "another version", "retries": 1}`
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.store("a", "r", written)
		args := make(chan string, 2)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", func(job *Job, n uint64, f float64, l []int) error {
			args <- string(job.Args)
			return RetryIn(0, errLuck)
		}))
		await(t, k.spy, ofJob[event.JobBuried]("r"))
		k.drained(pool)
		for range 2 {
			assert.Equal(t, `[ 12345678901234567890, 1.0, [] ]`, receive(t, args))
		}
		assert.Equal(t, written, k.text("HGET", "jobs", "r"))
	})
}

func TestAJobThatWorkersDieWithIsBuried(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan string, 2)
		handler := func(job *Job) error { ran <- job.ID; return RetryIn(patience, errLuck) }
		for id, crashes := range map[string]string{"deadly": "w1 w2 w3", "suspect": "w1 w2"} {
			k.enqueueAs(id, "a")
			k.do("HSET", "crashes", id, crashes)
		}
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("a", handler))
		buried := await(t, k.spy, ofJob[event.JobBuried]("deadly"))
		require.NoError(t, buried.Err)
		assert.Equal(t, "3 workers died while they held it: w1, w2, w3", buried.Reason)
		k.drained(pool)
		assert.Equal(t, buried.Reason, k.trail("deadly").Reason)
		k.due("morgue", "deadly")
		assert.Equal(t, "suspect", receive(t, ran))
		k.due("retry", "suspect")
		assert.Empty(t, ran)
		assert.Zero(t, k.number("HLEN", "crashes"), "an attempt that ended in good order ends the row")
	})
}
