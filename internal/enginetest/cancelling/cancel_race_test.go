package cancelling_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// raced is a job that others move while somebody cancels it. Scripts are atomic, so all that can happen are orders of
// them: what others do comes before one of the scripts of the one who cancels, or after all of them.
type raced struct {
	k       *kit
	store   *rdb.Store
	worker  *rdb.Worker
	random  *rand.Rand
	number  int64
	id      string
	claim   *rdb.FetchedJob // nil while nobody holds it
	settled string          // the last settlement that counted
}

// raceDriver has others act before each request.
type raceDriver struct {
	redisconn.Driver
	before func()
}

func (d *raceDriver) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	d.before()
	return d.Driver.Pipeline(ctx, calls...)
}

func TestCancelInARaceHasOneEnd(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		from []string
		acts []func(*raced)
	}{
		"fetch":  {[]string{"queue"}, []func(*raced){(*raced).fetch}},
		"settle": {[]string{"held"}, []func(*raced){(*raced).settle}},
		"due":    {[]string{"scheduled", "retry"}, []func(*raced){(*raced).due}},
		"reap":   {[]string{"held"}, []func(*raced){(*raced).reap}},
		"everything": {[]string{"queue", "held", "scheduled", "retry", "stalled"},
			[]func(*raced){(*raced).fetch, (*raced).settle, (*raced).due, (*raced).reap, (*raced).resume}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				r := newRaced(t, s)
				effects := map[work.CancelEffect]int{}
				for n := range redistest.Rounds(s.Embedded(), 1000, 100) {
					effects[r.round(fmt.Sprint("job", n), row.from, row.acts)]++
				}
				t.Log(effects)
				r.done()
			})
		})
	}
}

func newRaced(t *testing.T, s redistest.Server) *raced {
	t.Helper()
	k := newKit(t, s)
	driver, err := redisconn.Open(s.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	r := &raced{k: k, store: rdb.NewStore(driver, k.Namespace), random: rand.New(rand.NewPCG(rand.Uint64(), 1))}
	r.worker = r.store.Worker(ids.Worker())
	_, _, err = r.worker.Register(t.Context(), rdb.Registration{Life: time.Hour, Epoch: "e", Queues: []string{"a"}})
	require.NoError(t, err)
	return r
}

// round lets one job be cancelled while others act on it, lets it come to its end, and says what the one who cancels
// was told.
func (r *raced) round(id string, from []string, acts []func(*raced)) work.CancelEffect {
	r.id, r.settled = id, ""
	r.put(from[r.random.IntN(len(from))])
	at, request := r.random.IntN(4), 0 // before which request they act for the first time
	act := func() { acts[r.random.IntN(len(acts))](r) }
	driver := &raceDriver{Driver: r.store.Driver(), before: func() {
		if request == at || request > at && len(acts) > 1 {
			act()
		}
		request++
	}}
	results, err := pooltest.EnqueuerOn(driver, r.k.Namespace).Cancel(r.k.Ctx(), id)
	require.NoError(r.k.T, err)
	if request <= at {
		act()
	}
	r.finish()
	r.check(results[0])
	return results[0].Effect
}

func (r *raced) check(result work.CancelResult) {
	t := r.k.T
	switch result.Effect {
	case work.CancelEnded, work.CancelFlagged:
		require.Equal(t, record.Cancelled, r.k.outcomeOf(r.id).State, "%s was to be cancelled: %+v", r.id, result)
	case work.CancelTooLate:
		require.Equal(t, "done", r.settled)
		require.Equal(t, record.Succeeded, r.k.outcomeOf(r.id).State)
	case work.CancelDead:
		require.Equal(t, "morgue", r.settled)
		r.run("ZREM", "morgue", r.id)
		r.run("HDEL", "jobs", r.id)
		r.run("HDEL", "names", r.id)
	default:
		require.Failf(t, "a job that lives is not found", "%+v", result)
	}
	var keys []rdb.Key
	for _, key := range []string{"jobs", "claimed", "names", "crashes", "trail"} {
		keys = append(keys, rdb.Key{Name: key, Type: "hash"})
	}
	left, err := r.store.Sizes(t.Context(), append(keys, rdb.Key{Name: "cancelled", Type: "set"}))
	require.NoError(t, err)
	require.Equal(t, make([]int, len(keys)+1), left, "%s has left something", r.id)
}

// put puts the job into a place.
func (r *raced) put(place string) {
	r.run("HSET", "jobs", r.id, `{"jid":"`+r.id+`","name":"a","args":[],"t":1}`)
	switch place {
	case "queue", "held":
		r.run("LPUSH", "queue:a", r.id)
		r.run("SADD", "ready", "a")
	default:
		r.run("HSET", "names", r.id, "a")
		r.run("ZADD", place, 1, r.id)
	}
	if place == "held" {
		r.fetch()
		require.NotNil(r.k.T, r.claim)
	}
}

func (r *raced) run(command, key string, args ...any) any {
	r.k.T.Helper()
	value, err := redisconn.Do(r.k.T.Context(), r.store.Driver(),
		redisconn.Call{Command: command, Args: append([]any{r.store.FullName(key)}, args...)})
	require.NoError(r.k.T, err)
	return value
}

func (r *raced) fetch() {
	if r.claim != nil {
		return
	}
	r.number++
	fetched, err := r.worker.Fetch(r.k.T.Context(), r.number, 1, false, []rdb.Share{{Queue: "a", Jobs: 1}})
	require.NoError(r.k.T, err)
	if len(fetched.Jobs) == 1 {
		r.claim = &fetched.Jobs[0]
		require.Equal(r.k.T, r.id, r.claim.ID)
	}
}

// settle settles as a worker does: one that the fetch or the answer calls cancelled ends so.
func (r *raced) settle() {
	if r.claim == nil {
		return
	}
	w, claim := r.worker, r.claim.Claim
	how := []string{"done", "retry", "scheduled", "morgue", "release"}[r.random.IntN(5)]
	if r.claim.Cancelled {
		r.cancelled()
		return
	}
	var call redisconn.Call
	switch how {
	case "done":
		call = w.Complete([]rdb.Ended{{Claim: claim, ID: r.id, Keep: time.Minute,
			Outcome: record.Outcome{State: record.Succeeded}.Encode()}})
	case "release":
		call = w.Release(rdb.Released{Queue: "a", Elements: []string{claim.Element}})
	default:
		call = w.Shelve(rdb.Shelved{Claim: claim, Shelf: rdb.Shelf(how), Delay: time.Millisecond})
	}
	if answer := r.send(call); len(answer.Cancelled) > 0 {
		r.cancelled()
		return
	}
	r.claim, r.settled = nil, how
}

func (r *raced) cancelled() {
	answer := r.send(r.worker.End(r.claim.Claim, rdb.Ending{
		ID: r.id, Queue: "a", State: record.Cancelled, Keep: time.Minute,
		Outcome: record.Outcome{State: record.Cancelled}.Encode(),
	}))
	require.Empty(r.k.T, answer.Gone)
	r.claim = nil
}

func (r *raced) send(call redisconn.Call) rdb.Settled {
	r.k.T.Helper()
	settled, err := r.worker.Settle(r.k.T.Context(), []redisconn.Call{call})
	require.NoError(r.k.T, err)
	require.NoError(r.k.T, settled[0].Err)
	return settled[0]
}

// due moves the job from its shelf to its queue if it is due.
func (r *raced) due() {
	for _, shelf := range []rdb.Shelf{rdb.ShelfScheduled, rdb.ShelfRetry} {
		_, err := r.store.Due(r.k.T.Context(), shelf, rdb.DueCall{Move: []rdb.Waiting{{ID: r.id, Queue: "a"}}})
		require.NoError(r.k.T, err)
	}
}

// reap gives the job back as the reaper of a dead worker does.
func (r *raced) reap() {
	if r.claim != nil {
		r.send(r.worker.Release(rdb.Released{Queue: "a", Elements: []string{r.claim.Element}, Died: r.worker.ID}))
		r.claim = nil
	}
}

// resume puts the job back that somebody had stalled.
func (r *raced) resume() {
	if r.run("ZREM", "stalled", r.id) == int64(1) {
		r.run("HDEL", "names", r.id)
		r.run("LPUSH", "queue:a", r.id)
		r.run("SADD", "ready", "a")
	}
}

// finish lets the job come to its end, or to the morgue.
func (r *raced) finish() {
	for range 100 {
		if r.run("HEXISTS", "jobs", r.id) == int64(0) || r.run("ZSCORE", "morgue", r.id) != nil {
			r.claim = nil // nothing is left of it, as is checked
			return
		}
		r.run("ZADD", "scheduled", "XX", 1, r.id) // whatever waits there is due
		r.run("ZADD", "retry", "XX", 1, r.id)
		r.resume()
		r.due()
		r.fetch()
		r.settle()
	}
	require.Fail(r.k.T, "it never comes to an end", r.id)
}

// done checks that nothing is out of order at the end.
func (r *raced) done() {
	_, gone, err := r.worker.Forget(r.k.T.Context(), []string{"a"}, "")
	require.NoError(r.k.T, err)
	require.True(r.k.T, gone)
	findings, err := r.k.HandsOn(r.store.Driver()).Findings(r.k.T.Context(), time.Nanosecond)
	require.NoError(r.k.T, err)
	for _, finding := range findings {
		if finding.Check != "server" {
			assert.Failf(r.k.T, "the doctor found something", "%s", finding.Text)
		}
	}
}
