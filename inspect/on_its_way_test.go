package inspect_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// leaving is a namespace one of whose jobs has left partition 0, and has not arrived in partition 1.
type leaving struct {
	*divided
	directory *partition.Directory
	enq       *work.Enqueuer
	id        string
}

func newLeaving(t *testing.T, s redistest.Server, state work.State, id string) *leaving {
	d := newDivided(t, s, func(n int, k *kit) {
		if n > 0 {
			return
		}
		k.Do("ZADD", "queues", 1, "n")
		k.Do("HSET", "jobs", id, fmt.Sprintf(`{"jid":%q,"name":"n","args":[7],"t":1000}`, id))
		if state == work.StateQueued {
			k.Do("LPUSH", "queue:n", id)
			k.Do("SADD", "ready", "n")
			return
		}
		k.Do("ZADD", string(inspect.Selectable[state]), 4_000_000_000_003, id)
		k.Do("HSET", "names", id, "n")
	})
	l := &leaving{divided: d, id: id, directory: partition.NewDirectory(d.outages.Driver, d.Namespace)}
	require.NoError(t, l.directory.Refresh(d.Ctx()))
	var err error
	l.enq, err = work.NewEnqueuer("", work.WithConnection(pooltest.Connection{Of: d.outages}),
		work.Namespace(d.Namespace))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.enq.Close()) })
	store, lead := l.directory.Store(0), rdb.Lead{Token: "mover", Life: time.Minute}
	_, err = store.TakeLead(d.Ctx(), lead)
	require.NoError(t, err)
	frozen, err := store.Freeze(d.Ctx(), lead, rdb.Target{Partition: 1},
		[]rdb.MoveItem{{Kind: rdb.MoveBound, ID: id, Queue: "n"}})
	require.NoError(t, err)
	require.Len(t, frozen.Moved, 1)
	require.NoError(t, store.GiveUpLead(d.Ctx(), lead))
	return l
}

// arrive brings the job to where it goes, as whoever works in the partition does when a mover has died.
func (l *leaving) arrive() {
	l.T.Helper()
	_, err := resize.Settle(l.Ctx(), l.directory, 0)
	require.NoError(l.T, err)
	require.Zero(l.T, l.parts[0].Number("HEXISTS", "frozen", l.id), "it is there")
}

// afterwards are what is done to a job that is on its way, and what it comes to once it has arrived.
var afterwards = []struct {
	name  string
	state work.State
	do    func(ctx context.Context, l *leaving) error
	check func(t *testing.T, l *leaving)
}{
	{"Job", work.StateQueued, func(ctx context.Context, l *leaving) error {
		job, err := l.i.Job(ctx, l.id)
		if err == nil && job.Partition != 1 {
			err = fmt.Errorf("it is in partition %d", job.Partition)
		}
		return err
	}, nil},
	{"Search", work.StateQueued, func(ctx context.Context, l *leaving) error {
		page, err := l.i.Search(ctx, inspect.Selection{ID: l.id}, inspect.SearchOptions{})
		if err == nil && len(page.Jobs) != 1 {
			err = errors.New("it was not found")
		}
		return err
	}, nil},
	{"Log", work.StateQueued, func(ctx context.Context, l *leaving) error {
		_, err := l.i.Log(ctx, l.id, 0)
		return err
	}, nil},
	{"FullArgs", work.StateQueued, func(ctx context.Context, l *leaving) error {
		args, err := l.i.FullArgs(ctx, l.id)
		if err == nil && string(args) != "[7]" {
			err = errors.New(string(args))
		}
		return err
	}, nil},
	{"ChangeArgs", work.StateQueued, func(ctx context.Context, l *leaving) error {
		return l.i.ChangeArgs(ctx, l.id, 8)
	}, func(t *testing.T, l *leaving) {
		assert.Contains(t, l.parts[1].Text("HGET", "jobs", l.id), `"args":[8]`)
	}},
	{"RetryNow", work.StateRetrying, func(ctx context.Context, l *leaving) error { return l.i.RetryNow(ctx, l.id) },
		func(t *testing.T, l *leaving) { l.in(work.StateQueued) }},
	{"Stall", work.StateQueued, func(ctx context.Context, l *leaving) error { return l.i.Stall(ctx, l.id) },
		func(t *testing.T, l *leaving) { l.in(work.StateStalled) }},
	{"Delete", work.StateDead, func(ctx context.Context, l *leaving) error { return l.i.Delete(ctx, l.id) },
		func(t *testing.T, l *leaving) {
			assert.Zero(t, l.parts[0].Number("HLEN", "jobs")+l.parts[1].Number("HLEN", "jobs"))
		}},
	{"Wait", work.StateQueued, func(ctx context.Context, l *leaving) error {
		_, err := work.Wait[int](ctx, l.enq, l.id)
		var none *work.NoResultError
		if errors.As(err, &none) {
			return nil
		}
		return err
	}, nil},
}

func (l *leaving) in(state work.State) {
	l.T.Helper()
	job, err := l.i.Job(l.Ctx(), l.id)
	require.NoError(l.T, err)
	assert.Equal(l.T, state, job.State)
}

// From when a job is frozen until its target has stored it it is in no partition, and lives.
func TestAJobOnItsWayIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"given", ids.InPartition(ids.Job(time.Now()), 0)} {
		for _, op := range afterwards {
			t.Run(op.name+" "+id[:5], func(t *testing.T) {
				t.Parallel()
				redistest.Each(t, func(t *testing.T, s redistest.Server) {
					l := newLeaving(t, s, op.state, id)
					short, cancel := context.WithCancelCause(l.Ctx())
					failed := make(chan error)
					tries := func(ctx context.Context) {
						before := l.outages.Sent(1)
						go func() { failed <- op.do(ctx, l) }()
						l.Until("it was looked for more than once", func() bool { return l.outages.Sent(1) > before+5 })
					}
					if op.name != "Search" { // of which what it could not look at is no error
						tries(short)
						cancel(errors.New("enough"))
						err := <-failed
						require.Error(t, err)
						require.NotErrorIs(t, err, work.ErrNotFound)
						require.NotErrorIs(t, err, work.ErrGone)
					}
					cancel(nil)

					tries(l.Ctx())
					l.arrive()
					if op.name == "Wait" {
						l.Until("it is waited for there", func() bool {
							return l.parts[1].Number("HLEN", "waited") == 1
						})
						require.NoError(t, l.i.Delete(l.Ctx(), l.id))
					}
					require.NoError(t, <-failed)
					if op.check != nil {
						op.check(t, l)
					}
				})
			})
		}
	}
}

// Who cancels a job that is frozen has cancelled it: it ends where it arrives, and that is waited for.
func TestAJobOnItsWayIsCancelled(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		l := newLeaving(t, s, work.StateQueued, "given")
		var results []work.CancelResult
		cancelled := make(chan error)
		go func() {
			var err error
			results, err = l.i.Cancel(l.Ctx(), l.id, "nobody")
			cancelled <- err
		}()
		l.Until("it is noted with it", func() bool {
			words := strings.Fields(l.parts[0].Text("HGET", "frozen", l.id))
			return len(words) > 2 && words[2] == "1"
		})
		_, err := work.Result[int](l.Ctx(), l.enq, l.id)
		require.ErrorIs(t, err, work.ErrGone, "it has not ended")
		l.arrive()
		require.NoError(t, <-cancelled)
		assert.Equal(t, work.CancelEnded, results[0].Effect)
		assert.Equal(t, work.StateCancelled, results[0].State)
		assert.Equal(t, work.CancelNotFound, results[1].Effect)
		job, err := l.i.Job(l.Ctx(), l.id)
		require.NoError(t, err)
		assert.Equal(t, work.StateCancelled, job.State)
	})
}

// A job has arrived and has begun, and its mover has died before it could say so where it came from: who cancels it is
// told of the worker that has it, and that one hears of it.
func TestAJobThatHasBegunWhereItGoesIsCancelledThere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		l := newLeaving(t, s, work.StateQueued, "given")
		there := l.directory.Store(1)
		lead := rdb.Lead{Token: "another", Life: time.Minute}
		_, err := l.directory.Store(0).TakeLead(l.Ctx(), lead)
		require.NoError(t, err)
		frozen, err := l.directory.Store(0).Freeze(l.Ctx(), lead, rdb.Target{}, nil)
		require.NoError(t, err)
		_, err = there.Receive(l.Ctx(), rdb.Reception{Source: 0, Batch: frozen.Batch, Map: l.directory.Map().Version},
			frozen.Moved)
		require.NoError(t, err)
		w := there.Worker("w")
		_, _, err = w.Register(l.Ctx(), rdb.Registration{Life: time.Minute, Epoch: "e", Queues: []string{"n"}})
		require.NoError(t, err)
		fetched, err := w.Fetch(l.Ctx(), 1, 1, false, []rdb.Share{{Queue: "n"}})
		require.NoError(t, err)
		require.Len(t, fetched.Jobs, 1)

		results, err := l.i.Cancel(l.Ctx(), l.id)
		require.NoError(t, err)
		assert.Equal(t, work.CancelFlagged, results[0].Effect)
		settled, err := w.Settle(l.Ctx(), []redisconn.Call{
			w.End(fetched.Jobs[0].Claim, rdb.Ending{ID: l.id, Queue: "n", State: "done"})})
		require.NoError(t, err)
		assert.Equal(t, []string{fetched.Jobs[0].Element}, settled[0].Cancelled, "it cannot end as done")
	})
}

// While jobs go to and fro between partitions each of them is found, whenever it is looked for.
func TestAJobThatLivesIsNeverToldToBeMissing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		const many = 20
		d := newDivided(t, s, func(n int, k *kit) {
			if n == 0 {
				k.crowdOf("a", work.StateDead, many)
			}
		})
		directory := partition.NewDirectory(d.outages.Driver, d.Namespace)
		require.NoError(t, directory.Refresh(d.Ctx()))
		ctx, stop := context.WithCancel(d.LongCtx())
		moved := make(chan error)
		go func() {
			var err error
			for round := 0; ctx.Err() == nil && err == nil; round++ {
				err = swap(d.LongCtx(), directory, round%parts, many)
			}
			moved <- err
		}()
		for n := range 100 {
			id := fmt.Sprintf("a%03d", n%many)
			_, err := d.i.Job(d.LongCtx(), id)
			require.NoError(t, err, "look %d", n)
			require.NoError(t, d.i.ChangeArgs(d.LongCtx(), id, n), "look %d", n)
			results, err := d.i.Cancel(d.LongCtx(), id)
			require.NoError(t, err)
			require.NotEqual(t, work.CancelNotFound, results[0].Effect, "look %d", n)
		}
		stop()
		require.NoError(t, <-moved)
	})
}

// swap brings jobs from one partition to the next, in batches, as a mover does: it stores them before it forgets them.
func swap(ctx context.Context, directory *partition.Directory, from, many int) error {
	next := directory.Map().Clone() // nothing is moved on before the map has changed
	next.Version++
	for i := range parts {
		if _, err := directory.Store(i).WriteMap(ctx, next.Version, next.Encode(), -1); err != nil {
			return err
		}
	}
	directory.Learn(next)
	store, lead := directory.Store(from), rdb.Lead{Token: "swap", Life: time.Minute}
	if _, err := store.TakeLead(ctx, lead); err != nil {
		return err
	}
	for first := 0; first < many; first += 5 {
		var items []rdb.MoveItem
		for n := range 5 {
			items = append(items, rdb.MoveItem{Kind: rdb.MoveBound, ID: fmt.Sprintf("a%03d", first+n), Queue: "n"})
		}
		if _, err := store.Freeze(ctx, lead, rdb.Target{Partition: (from + 1) % parts}, items); err != nil {
			return err
		}
		if err := store.GiveUpLead(ctx, lead); err != nil {
			return err
		}
		if _, err := resize.Settle(ctx, directory, from); err != nil {
			return err
		}
		if _, err := store.TakeLead(ctx, lead); err != nil {
			return err
		}
	}
	return store.GiveUpLead(ctx, lead)
}
