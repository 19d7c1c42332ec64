package webui

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/api"
)

// order sends a job under an idempotency key, "" is none.
func (k *kit) order(body, key string) answer {
	k.t.Helper()
	if key == "" {
		return k.call(http.MethodPost, "jobs?force=true", body)
	}
	return k.call(http.MethodPost, "jobs?force=true", body, "Idempotency-Key", key)
}

func (k *kit) receipt(a answer) (r api.Receipt) {
	k.t.Helper()
	a.decode(k.t, &r)
	return r
}

func TestAnyLanguageEnqueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		got := k.order(`{"name": "mail", "args": ["ann", 12345678901234567890, {"a": "<b>"}], "source": 7, "retries": 0, "timeout": "1m",
			"retention": "1h", "meta": {"trace": "x"}, "tags": ["eu"], "in": "1h", "deadline": "2041-02-03T04:05:06Z",
			"key": "customer-7", "weight": 3}`,
			"")
		require.Equal(t, http.StatusCreated, got.StatusCode, got.Text)
		r := k.receipt(got)
		assert.Equal(t, "job?id="+r.ID, got.Header.Get("Location"))
		job, err := k.inspector.Job(k.ctx(), r.ID)
		require.NoError(t, err)
		assert.Equal(t, "mail", job.Name)
		assert.Equal(t, `["ann",12345678901234567890,{"a":"<b>"}]`, string(job.Args))
		assert.EqualValues(t, 7, job.SourceID)
		assert.Equal(t, 0, *job.Options.Retries)
		assert.Equal(t, time.Minute, job.Options.Timeout)
		assert.Equal(t, time.Hour, job.Options.Retention)
		assert.Equal(t, 2041, job.Options.Deadline.UTC().Year())
		assert.Equal(t, map[string]string{"trace": "x"}, job.Meta)
		assert.Equal(t, []string{"eu"}, job.Tags)
		assert.Equal(t, "customer-7", job.Options.Key)
		assert.Equal(t, 3, job.Options.Weight)
		assert.Equal(t, work.StateScheduled, job.State)
		assert.WithinDuration(t, job.RunAt, r.RunAt, time.Second)
		entry := k.entries()[0]
		assert.Equal(t, OutcomeDone, entry.Outcome)
		assert.Equal(t, []string{r.ID}, entry.Targets)
	})
}

func TestAJobOfThatIDOrKindIsToldOf(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		for _, body := range []string{`{"name":"mail","id":"mine"}`,
			`{"name":"report","unique":{"key":"k","for":"1h"}}`} {
			first := k.order(body, "")
			require.Equal(t, http.StatusCreated, first.StatusCode, first.Text)
			again := k.order(body, "")
			require.Equal(t, http.StatusOK, again.StatusCode, again.Text)
			assert.Equal(t, api.Receipt{ID: k.receipt(first).ID, Name: k.receipt(first).Name, Duplicate: true},
				k.receipt(again))
		}
		refused := k.order(`{"name":"report","unique":{"key":"k","for":"1h","on_conflict":["refuse"]}}`, "")
		assert.Equal(t, "no", refused.problem(t, http.StatusConflict, "of the same kind").Stored)
	})
}

func TestAnOrderThatCannotBe(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	for name, row := range map[string]struct{ body, says string }{
		"no name":              {`{}`, "job name"},
		"a field that is not":  {`{"name":"mail","arg":[1]}`, `unknown field "arg"`},
		"args of no array":     {`{"name":"mail","args":{"a":1}}`, "does not fit"},
		"a delay of numbers":   {`{"name":"mail","in":60}`, "60 is no duration"},
		"a negative delay":     {`{"name":"mail","in":"-1s"}`, "use zero or more"},
		"a time and a delay":   {`{"name":"mail","in":"1s","at":"2041-02-03T04:05:06Z"}`, "use one of them"},
		"no timeout":           {`{"name":"mail","timeout":"0s"}`, "above zero"},
		"an empty id":          {`{"name":"mail","id":""}`, "id"},
		"an empty key":         {`{"name":"mail","key":""}`, "use one of one byte or more"},
		"a key of 201 bytes":   {`{"name":"mail","key":"` + strings.Repeat("k", 201) + `"}`, "use at most 200"},
		"a key with a NUL":     {`{"name":"mail","key":"a\u0000b"}`, "without control characters"},
		"a weight of nothing":  {`{"name":"mail","key":"a","weight":0}`, "use 1 to 100"},
		"too large a weight":   {`{"name":"mail","key":"a","weight":101}`, "use 1 to 100"},
		"a weight of no key":   {`{"name":"mail","weight":2}`, "given Weight without Key"},
		"until when":           {`{"name":"mail","unique":{"until":"noon"}}`, "is none of"},
		"an unknown conflict":  {`{"name":"mail","unique":{"on_conflict":["x"]}}`, "is none of"},
		"half a body":          {`{"name":"mail"`, "not as it should be"},
		"two bodies":           {`{"name":"mail"}{"name":"mail"}`, "something follows"},
		"nothing":              {``, "is empty"},
		"metadata of no words": {`{"name":"mail","meta":{"a":1}}`, "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"", "k"} {
				k.order(row.body, key).problem(t, http.StatusBadRequest, row.says)
			}
		})
	}
	counts, err := k.inspector.Counts(k.ctx())
	require.NoError(t, err)
	assert.Zero(t, counts.Queued+counts.Scheduled, "nothing is stored")
	k.handler = Handler(k.inspector, Options{Authorize: byHeader, Logger: slog.New(slog.DiscardHandler)})
	k.order(`{"name":"mail"}`, "").problem(t, http.StatusNotImplemented, "Enqueuer")
}

func TestTheSameRequestGivesTheSameAnswerWhateverBecameOfItsJob(t *testing.T) {
	t.Parallel()
	ends := map[string]func(k *kit, id string){
		"it waits":    func(*kit, string) {},
		"was deleted": func(k *kit, id string) { require.NoError(k.t, k.inspector.Delete(k.ctx(), id)) },
		"was cancelled": func(k *kit, id string) {
			_, err := k.inspector.Cancel(k.ctx(), id)
			require.NoError(k.t, err)
		},
		"was purged": func(k *kit, _ string) {
			_, err := k.inspector.Purge(k.ctx(), "dies", inspect.PurgeOptions{})
			require.NoError(k.t, err)
		},
		"it died": func(k *kit, id string) {
			k.pool()
			k.until("the job dies", func() bool { return k.state(id) == work.StateDead })
		},
	}
	for what, end := range ends {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newAPI(t, s)
				first := k.order(`{"name": "dies", "args": []}`, "key")
				require.Equal(t, http.StatusCreated, first.StatusCode, first.Text)
				assert.Empty(t, first.Header.Get("Idempotency-Replayed"))
				id := k.receipt(first).ID
				end(k, id)
				for _, body := range []string{`{"name": "dies", "args": []}`, ` { "args":[],"name":"dies" } `} {
					again := k.order(body, "key")
					assert.Equal(t, first.StatusCode, again.StatusCode)
					assert.Equal(t, first.Text, again.Text)
					assert.Equal(t, first.Header.Get("Location"), again.Header.Get("Location"))
					assert.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
				}
				for _, body := range []string{`{"name":"dies","args":[1]}`, `{"name":"other","args":[]}`,
					`{"name":"dies","args":[],"in":"1h"}`} {
					k.order(body, "key").problem(t, http.StatusConflict, "belongs to another request")
				}
				counts, err := k.inspector.Counts(k.ctx())
				require.NoError(t, err)
				assert.LessOrEqual(t, counts.Queued+counts.Scheduled+counts.Dead, 1, "stored once")
				other := k.order(`{"name": "dies", "args": []}`, "another key")
				assert.NotEqual(t, id, k.receipt(other).ID)
			})
		})
	}
}

func TestTheSameRequestAfterItsJobIsDone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		ran := make(chan string, 10)
		pool := work.NewWorkerPool(nil, 1,
			work.WorkerOptions{Redis: s.DSN(), Namespace: k.namespace, Logger: slog.New(slog.DiscardHandler)}).
			Job("mail", func(who string) error { ran <- who; return nil })
		first := k.order(`{"name":"mail","args":["ann"]}`, "key")
		require.NoError(t, pool.Start(k.ctx()))
		defer func() { assert.NoError(t, pool.Stop(k.ctx())) }()
		assert.Equal(t, "ann", <-ran)
		k.until("the job has ended", func() bool { return k.state(k.receipt(first).ID) == "" })
		assert.Equal(t, first.Text, k.order(`{"name":"mail","args":["ann"]}`, "key").Text)
		k.order(`{"name":"mail","args":["bob"]}`, "key").problem(t, http.StatusConflict, "belongs to another")
		k.order(`{"name":"mail","args":["last"]}`, "")
		assert.Equal(t, "last", <-ran, "and nothing between them")
	})
}

func TestManySendOneRequestAtOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newAPI(t, s)
		answers := make([]answer, 30)
		var senders sync.WaitGroup
		for i := range answers {
			senders.Go(func() { answers[i] = k.order(fmt.Sprintf(`{"name":"mail","args":[%d]}`, i%2), "key") })
		}
		senders.Wait()
		texts := map[string]int{}
		for _, a := range answers {
			if a.StatusCode != http.StatusCreated {
				a.problem(t, http.StatusConflict, "belongs to another")
				continue
			}
			texts[a.Text]++
		}
		assert.Len(t, texts, 1)
		for _, n := range texts {
			assert.Equal(t, len(answers)/2, n, "all that said the same")
		}
		counts, err := k.inspector.Counts(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, 1, counts.Queued)
	})
}

// Redis has stored it, its reply is lost on the way: the enqueuer asks again by itself, and so may who sent the
// request.
func TestARequestWhoseReplyWasLostIsSentAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, proxy := behindProxy(t, s)
		body := `{"name":"mail","args":["the one and only"]}`
		swallowed := proxy.SwallowReply("the one and only")
		first := k.order(body, "key")
		require.Equal(t, http.StatusCreated, first.StatusCode, first.Text)
		select {
		case <-swallowed:
		default:
			t.Fatal("no reply was swallowed")
		}
		assert.Equal(t, first.Text, k.order(body, "key").Text)
		assert.Equal(t, 1, k.waiting("mail"))
	})
}

// Nobody knows whether a request was heard, and it lands late, maybe after its second try.
func TestARequestOfWhichNobodyKnowsIsSentAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, proxy := behindProxy(t, s)
		body := `{"name":"mail","args":["the one and only"]}`
		handler := k.handler
		ctx, cancel := context.WithTimeout(k.ctx(), 2500*time.Millisecond) // enough to send it on a busy machine
		defer cancel()
		k.handler = http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request) {
			handler.ServeHTTP(w, r.WithContext(ctx))
		})
		proxy.Pause()
		lost := k.order(body, "key").problem(t, http.StatusGatewayTimeout, "it is not known whether")
		assert.Equal(t, "unknown", lost.Stored)
		proxy.Resume()
		k.handler = handler
		again := k.order(body, "key")
		require.Equal(t, http.StatusCreated, again.StatusCode, again.Text)
		assert.Equal(t, again.Text, k.order(body, "key").Text)
		assert.Equal(t, 1, k.waiting("mail"))
	})
}

// behindProxy is an API whose enqueuer reaches Redis through a proxy.
func behindProxy(t *testing.T, s redistest.Server) (*kit, *redistest.Proxy) {
	t.Helper()
	proxy := redistest.NewProxy(t, s.Addr())
	k := newKit(t, s)
	enq, err := work.NewEnqueuer(proxy.DSN(), work.Namespace(k.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	k.handler = Handler(k.inspector, Options{Authorize: byHeader, Logger: slog.New(slog.DiscardHandler), Enqueuer: enq})
	// so that Redis knows the script
	require.Equal(t, http.StatusCreated, k.order(`{"name":"warm"}`, "warm").StatusCode)
	return k, proxy
}

func (k *kit) waiting(name string) int {
	k.t.Helper()
	queue, err := k.inspector.Queue(k.ctx(), name)
	require.NoError(k.t, err)
	return queue.Waiting
}

// A job that is stored although its enqueue failed is told of as such.
func TestAnEnqueueThatFailedTellsWhatBecameOfTheJob(t *testing.T) {
	t.Parallel()
	s := redistest.Embedded(t)
	for want, stores := range map[string]bool{"yes": true, "no": false} {
		k := newKit(t, s)
		enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(k.namespace), work.WithEnqueueMiddleware(
			func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
				if stores {
					if _, err := next(ctx, entries); err != nil {
						return err
					}
				}
				return io.ErrUnexpectedEOF
			}))
		require.NoError(t, err)
		k.handler = Handler(k.inspector,
			Options{Authorize: byHeader, Audit: k.audit, Logger: slog.New(slog.DiscardHandler), Enqueuer: enq})
		got := k.order(`{"name":"mail"}`, "").problem(t, http.StatusBadGateway, "unexpected EOF")
		assert.Equal(t, want, got.Stored)
		assert.Equal(t, OutcomeFailed, k.entries()[0].Outcome)
		require.NoError(t, enq.Close())
	}
	k := newAPI(t, s)
	require.NoError(t, k.enq.Close())
	assert.Equal(t, "no", k.order(`{"name":"mail"}`, "").problem(t, http.StatusServiceUnavailable, "closed").Stored)
}

func TestTheBodiesOfRequestsAreComparedAsJSON(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	for name, row := range map[string]struct {
		first, second string
		same          bool
	}{
		"spaces and order": {`{"name":"mail","args":[{"a":1,"b":2}]}`,
			`{ "args": [{"b":2, "a":1}], "name": "mail" }`, true},
		"escapes":       {`{"name":"mail"}`, `{"name":"\u006dail"}`, true},
		"order of args": {`{"name":"mail","args":[1,2]}`, `{"name":"mail","args":[2,1]}`, false},
		"large numbers one apart": {`{"name":"mail","args":[9007199254740993]}`,
			`{"name":"mail","args":[9007199254740992]}`, false},
		"halves of pairs": {`{"name":"mail","args":["file-\udce9"]}`,
			`{"name":"mail","args":["file-\udce8"]}`, false},
		"what is left out":          {`{"name":"mail"}`, `{"name":"mail","args":[]}`, false},
		"a number and its text":     {`{"name":"mail","args":[1]}`, `{"name":"mail","args":["1"]}`, false},
		"the name of the job alone": {`{"name":"mail"}`, `{"name":"nail"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, http.StatusCreated, k.order(row.first, name).StatusCode)
			again := k.order(row.second, name)
			if row.same {
				assert.Equal(t, http.StatusCreated, again.StatusCode, again.Text)
				assert.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
				return
			}
			again.problem(t, http.StatusConflict, "belongs to another")
		})
	}
}

func TestAnIdempotencyKeyThatCannotBe(t *testing.T) {
	t.Parallel()
	k := newAPI(t, redistest.Embedded(t))
	body := `{"name":"mail"}`
	k.order(body, strings.Repeat("k", 201)).problem(t, http.StatusBadRequest, "1 to 200 bytes")
	k.call(http.MethodPost, "jobs?force=true", body, "Idempotency-Key", "").problem(t,
		http.StatusBadRequest, "1 to 200 bytes")
	k.call(http.MethodPost, "jobs?force=true", body, "Idempotency-Key", "a", "Idempotency-Key", "b").problem(t,
		http.StatusBadRequest, "one header")
	for _, body := range []string{`{"name":"mail","id":"mine"}`, `{"name":"mail","unique":{}}`} {
		k.order(body, "key").problem(t, http.StatusBadRequest, `leave "id" and "unique" out`)
	}
	counts, err := k.inspector.Counts(k.ctx())
	require.NoError(t, err)
	assert.Zero(t, counts.Queued, "nothing is stored")
	require.Equal(t, http.StatusCreated, k.order(body, strings.Repeat("k", 200)).StatusCode)
}
