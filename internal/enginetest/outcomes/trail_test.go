package outcomes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

func TestTheMorgueKeepsTheLastTenErrorsOfAJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Retries: 12}, func(job *work.Job) error {
				return work.RetryIn(0, fmt.Errorf("failure %d", job.Attempt))
			}))
		k.EnqueueAs("j", "a")
		k.Do("HSET", "trail", "j", `{"fails":2,"errors":[{"attempt":1,"error":"one"},{"attempt":2,"error":"two"}]}`)
		buried := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried]("j"))
		assert.Equal(t, 13, buried.Attempt)
		k.Drained(pool)
		kept := k.Trail("j")
		assert.Equal(t, 13, kept.Fails)
		assert.Equal(t, "out of retries", kept.Reason)
		require.Len(t, kept.Errors, 10)
		for i, failure := range kept.Errors {
			assert.Equal(t, i+4, failure.Attempt)
			assert.Contains(t, failure.Error, fmt.Sprintf("failure %d", i+4))
			assert.Equal(t, buried.Worker, failure.Worker)
			assert.WithinDuration(t, buried.Begun, time.UnixMilli(failure.At), pooltest.Patience)
		}
	})
}

func TestWhatIsKeptOfAnErrorIsBoundedUTF8(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"invalid": "a\xff\xfeb", "long": strings.Repeat("long ", 1<<20), "wide": strings.Repeat("日本", 1<<10),
		"nul": "a\x00b", "empty": "",
	}
	wanted := map[string]string{
		"invalid": "a\uFFFDb", "long": strings.Repeat("long ", 204) + "l…", "wide": strings.Repeat("日本", 170) + "…",
		"nul": "a\x00b", "empty": "",
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options())
		for name, text := range texts {
			pool.JobWithOptions(name, work.JobOptions{Backoff: pooltest.Hourly},
				func() error { return errors.New(text) })
			k.EnqueueAs(name, name)
		}
		pool.JobWithOptions("panic", work.JobOptions{Backoff: pooltest.Hourly}, func() error { return deep(200) })
		k.EnqueueAs("panic", "panic")
		k.Start(pool)
		k.Drained(pool)
		for name := range texts {
			t.Run(name, func(t *testing.T) { assert.Equal(t, wanted[name], k.Trail(name).Errors[0].Error) })
		}
		stack := k.Trail("panic").Errors[0].Stack
		assert.LessOrEqual(t, len(stack), 4<<10)
		assert.Contains(t, stack, "outcomes_test.deep", "its first frames, where the panic was")
	})
}

func deep(n int) error {
	if n == 0 {
		panic("at the bottom")
	}
	return deep(n - 1)
}

func TestATrailThatCannotBeReadDoesNotStopTheJob(t *testing.T) {
	t.Parallel()
	trails := map[string]string{
		"not JSON": "{", "another type": `[1]`, "fields of other types": `{"fails":"3"}`, "a fraction": `{"fails":1.5}`,
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Backoff: pooltest.Hourly}, func() error { return pooltest.ErrLuck })
		for name, text := range trails {
			k.EnqueueAs(name, "a")
			k.Do("HSET", "trail", name, text)
		}
		k.Start(pool)
		k.Drained(pool)
		for name := range trails {
			t.Run(name, func(t *testing.T) {
				kept := k.Trail(name)
				require.Len(t, kept.Errors, 2)
				assert.Contains(t, kept.Errors[0].Error, "its earlier trail could not be read: ")
				assert.Equal(t, "no luck", kept.Errors[1].Error)
				assert.Equal(t, 1, kept.Fails)
				assert.Empty(t, kept.Reason)
			})
		}
	})
}

func TestCountsThatWereWrittenByHandDoNotOverflow(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		attempts := map[string]int{}
		pool := work.NewWorkerPool(nil, 1, k.Options()).
			JobWithOptions("a", work.JobOptions{Retries: 1<<63 - 1}, func(job *work.Job) error {
				attempts[job.ID] = job.Attempt
				return pooltest.ErrLuck
			})
		for id, text := range map[string]string{"huge": `{"fails":9223372036854775807}`,
			"negative": `{"fails":-9223372036854775808}`} {
			k.EnqueueAs(id, "a")
			k.Do("HSET", "trail", id, text)
		}
		began := time.Now()
		k.Start(pool)
		k.Drained(pool)
		assert.Equal(t, map[string]int{"huge": 1<<30 + 1, "negative": 1}, attempts)
		assert.Greater(t, k.Due("retry", "huge").Sub(began), 49*365*24*time.Hour)
		assert.Greater(t, k.Due("retry", "negative").Sub(began), 14*time.Second)
	})
}

type badRecord struct {
	name   string
	record string // %s is the id
	reason []string
	called bool // an attempt was made, so there is an error beside the reason
}

var badRecords = []badRecord{
	{"not JSON", "PING\r\n", []string{"the record cannot be read: it is not JSON from byte"}, false},
	{"cut off", `{"jid":"%s","name":"takes","args":[1,"a`,
		[]string{"the record cannot be read: it is not JSON from byte"}, false},
	{"empty", "", []string{"the record cannot be read: it is not JSON from byte"}, false},
	{"bytes", "\x00\xff\xfe", []string{"the record cannot be read: it is not JSON from byte"}, false},
	{"null", "null", []string{"the record's args are missing", "JSON array"}, false},
	{"a list", `[1,2]`, []string{"the record is not a JSON object", "a JSON array"}, false},
	{"no args", `{"jid":"%s","name":"takes","t":1}`, []string{"the record's args are missing"}, false},
	{"args no array", `{"jid":"%s","name":"takes","args":{"a":1},"t":1}`,
		[]string{`the record's args are a JSON object`}, false},
	{"a field of another type", `{"jid":"%s","name":"takes","args":[],"t":1,"retries":"many"}`,
		[]string{"a JSON string does not fit the type int of its field retries"}, false},
	{"name of another queue", `{"jid":"%s","name":"other","args":[1,"a"],"t":1}`, []string{"other", "takes"}, false},
	{"first argument", `{"jid":"%s","name":"takes","args":["1","a"],"t":1}`,
		[]string{"argument 1 of ", "is a JSON string", "wanted int64"}, true},
	{"a fraction", `{"jid":"%s","name":"takes","args":[1.5,"a"],"t":1}`,
		[]string{"argument 1 of ", "is a JSON number", "wanted int64"}, true},
	{"null for a number", `{"jid":"%s","name":"takes","args":[null,"a"],"t":1}`, []string{"is null", "wanted int64"},
		true},
	{"second argument", `{"jid":"%s","name":"takes","args":[1,[  "x" ]],"t":1,"x":{"unknown":1.0}}`,
		[]string{"argument 2 of ", "is a JSON array", "wanted string"}, true},
	{"too few", `{"jid":"%s","name":"takes","args":[1],"t":1}`,
		[]string{"found 1", "wanted a JSON array of 2 (int64, string)"}, true},
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
			k.Store("takes", id, records[id])
			k.Enqueue("takes", i, "good")
		}
		pool := k.Start(work.NewWorkerPool(nil, 3, k.Options()).
			Job("takes", func(n int64, text string) error { done <- n; return nil }))
		k.Drained(pool)
		assert.Len(t, done, len(badRecords), "all the good ones and none of the bad")
		assert.Equal(t, len(badRecords), pooltest.Count[event.JobBuried](k.Spy))
		assert.Equal(t, len(badRecords), k.Number("HLEN", "jobs"))
		for i, bad := range badRecords {
			t.Run(bad.name, func(t *testing.T) { bad.check(t, k, fmt.Sprintf("bad %d", i), records) })
		}
	})
}

func (bad badRecord) check(t *testing.T, k *kit, id string, records map[string]string) {
	assert.Equal(t, records[id], k.Text("HGET", "jobs", id))
	k.Due("morgue", id)
	kept := k.Trail(id)
	for _, part := range bad.reason {
		assert.Contains(t, kept.Reason, part)
	}
	buried := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](id))
	assert.Equal(t, kept.Reason, buried.Reason)
	assert.Equal(t, "takes", buried.Name)
	assert.Equal(t, bad.called, buried.Err != nil)
	if !bad.called {
		assert.Empty(t, kept.Errors)
		assert.True(t, buried.Begun.IsZero())
		return
	}
	require.Len(t, kept.Errors, 1)
	assert.NotNil(t, errchain.Find[*work.ArgumentError](buried.Err))
}

func TestARecordIsNotTouchedByRetries(t *testing.T) {
	t.Parallel()
	const written = `{"jid": "r", "name": "a", "args": [ 12345678901234567890, 1.0, [] ], "t": 1, "by": "another version", "retries": 1}`
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Store("a", "r", written)
		args := make(chan string, 2)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("a", func(job *work.Job, n uint64, f float64, l []int) error {
				args <- string(job.Args)
				return work.RetryIn(0, pooltest.ErrLuck)
			}))
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried]("r"))
		k.Drained(pool)
		for range 2 {
			assert.Equal(t, `[ 12345678901234567890, 1.0, [] ]`, pooltest.Receive(t, args))
		}
		assert.Equal(t, written, k.Text("HGET", "jobs", "r"))
	})
}

func TestAJobThatWorkersDieWithIsBuried(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := make(chan string, 2)
		handler := func(job *work.Job) error { ran <- job.ID; return work.RetryIn(pooltest.Patience, pooltest.ErrLuck) }
		for id, crashes := range map[string]string{"deadly": "w1 w2 w3", "suspect": "w1 w2"} {
			k.EnqueueAs(id, "a")
			k.Do("HSET", "crashes", id, crashes)
		}
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("a", handler))
		buried := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried]("deadly"))
		require.NoError(t, buried.Err)
		assert.Equal(t, "3 workers died while they held it: w1, w2, w3", buried.Reason)
		k.Drained(pool)
		assert.Equal(t, buried.Reason, k.Trail("deadly").Reason)
		k.Due("morgue", "deadly")
		assert.Equal(t, "suspect", pooltest.Receive(t, ran))
		k.Due("retry", "suspect")
		assert.Empty(t, ran)
		assert.Zero(t, k.Number("HLEN", "crashes"), "an attempt that ended in good order ends the row")
	})
}
