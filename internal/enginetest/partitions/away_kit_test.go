package partitions_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// hands do by hand, in three partitions, what pools do: they go on with flows, and run the jobs of three names, of
// which each lives in one partition.
type hands struct {
	*divided
	directory *partition.Directory
	names     []string
	workers   []*rdb.Worker
	fetches   int64
	ran       []string
	home      int    // where the flow is
	fails     string // the id of a job that is discarded instead of done
	dies      string // the id of one that goes into the morgue
}

func newHands(t *testing.T, s redistest.Server) *hands {
	h := &hands{divided: newDivided(t, s, 3), names: make([]string, 3)}
	var bound []string
	for i := 0; len(bound) < 3; i++ {
		name := fmt.Sprint("n", i)
		m := h.m.Clone()
		m.Bound = []string{name}
		if at := m.Home(partition.Job{Name: name}).Partition; h.names[at] == "" {
			h.names[at], bound = name, append(bound, name)
		}
	}
	slices.Sort(bound)
	h.change(func(m *partition.Map) { m.Bound = bound })
	h.directory = partition.NewDirectory(h.Raw().Driver(), h.Namespace)
	require.NoError(t, h.directory.Refresh(h.Ctx()))
	for i := range 3 {
		w := h.directory.Store(i).Worker("w")
		_, _, err := w.Register(h.Ctx(), rdb.Registration{Life: time.Hour, Epoch: "e", Queues: []string{h.names[i]}})
		require.NoError(t, err)
		h.workers = append(h.workers, w)
	}
	return h
}

// aFlow has members at home in all partitions, and is in the first.
func (h *hands) aFlow() *flow.Flow {
	f := flow.New("f").OnDone(h.names[0]).OnDeath(h.names[0])
	here := f.Job(h.names[0]).Named("here")
	one := f.Job(h.names[1]).Named("one").With(work.Unique(work.UniqueOptions{Key: "x"})).After(here)
	in := flow.New("")
	in.Job(h.names[2]).Named("two")
	inner := f.Flow("in", in).After(one)
	f.Job(h.names[0]).Named("last").After(inner)
	f.Job(h.names[2]).Named("free")
	return f
}

var allOf = []string{"f/@done", "f/free/@job", "f/here", "f/in/two/@job", "f/last", "f/one/@job"}

func (h *hands) store(f *flow.Flow) flow.Receipt {
	h.T.Helper()
	receipt, err := flow.Enqueue(h.Ctx(), h.Enq, f)
	require.NoError(h.T, err)
	return receipt
}

// goOn does once in each partition what there is to do.
func (h *hands) goOn() {
	h.T.Helper()
	for i := range 3 {
		require.NoError(h.T, maintain.AdvanceFlows(h.Ctx(), h.directory.Store(i)))
		h.run(i)
	}
}

// run runs what waits in a partition.
func (h *hands) run(i int) {
	h.T.Helper()
	for _, job := range h.take(i, 9) {
		h.end(i, job)
	}
}

// take has the worker of a partition begin so many jobs at the most.
func (h *hands) take(i, n int) []rdb.FetchedJob {
	h.T.Helper()
	h.fetches++
	fetched, err := h.workers[i].Fetch(h.Ctx(), h.fetches, n, true, []rdb.Share{{Queue: h.names[i], Jobs: n}})
	require.NoError(h.T, err)
	return fetched.Jobs
}

// end ends a job that the worker of a partition has begun.
func (h *hands) end(i int, job rdb.FetchedJob) {
	h.T.Helper()
	of := ending.BelongingsIn(job.Record, nil)
	state := "done"
	if job.ID == h.fails {
		state = "discarded"
	} else {
		of.Flow.Result = []byte(`"` + job.ID + `"`)
	}
	h.ran = append(h.ran, job.ID)
	call := h.workers[i].End(job.Claim, rdb.Ending{ID: job.ID, Queue: job.Queue, State: state, Belongings: of})
	if job.ID == h.dies {
		of.Flow.Result = nil
		call = h.workers[i].Shelve(rdb.Shelved{Claim: job.Claim, Shelf: rdb.ShelfMorgue, Trail: []byte(`{"fails":1}`),
			Flow: of.Flow})
	}
	settled, err := h.workers[i].Settle(h.Ctx(), []redisconn.Call{call})
	require.NoError(h.T, err)
	require.NoError(h.T, settled[0].Err)
}

// until goes on until the flow is in that state, and nothing is left to be done.
func (h *hands) until(state flow.State) {
	h.T.Helper()
	for range 40 {
		h.goOn()
		if h.stateOf("f") == state && h.sum("ZCARD", "flows:busy") == 0 {
			h.run(h.home) // what runs at its end
			return
		}
	}
	require.Equal(h.T, state, h.stateOf("f"))
	require.Zero(h.T, h.sum("ZCARD", "flows:busy"))
}

func (h *hands) stateOf(id string) flow.State {
	h.T.Helper()
	p, err := flowdb.Of(h.directory.Store(h.home)).Progress(h.Ctx(), id)
	require.NoError(h.T, err)
	return flow.State(p.State)
}

// sum adds up what a command says in all partitions.
func (h *hands) sum(command, key string) (n int) {
	h.T.Helper()
	for i := range 3 {
		value, err := redisconn.Do(h.Ctx(), h.Raw().Driver(),
			redisconn.Call{Command: command, Args: []any{h.directory.Store(i).Key(key)}})
		require.NoError(h.T, err)
		n += int(value.(int64))
	}
	return n
}

// nothingLeft checks that nothing is left of the flow in any partition.
func (h *hands) nothingLeft() {
	h.T.Helper()
	for _, key := range []string{"flow:f", "flow:f/in", "flow:f/one", "flow:f/in/two", "flow:f/free",
		"flow.records:f/one", "flow.left:f/free", "flow.todo:f/in/two", "flows:away", "flows:busy", "flows",
		"flows:filling", "unique"} {
		assert.Zero(h.T, h.sum("EXISTS", key), key)
	}
}

// didRun checks what has run, in whatever order.
func (h *hands) didRun(want ...string) {
	h.T.Helper()
	got := slices.Clone(h.ran)
	slices.Sort(got)
	assert.Equal(h.T, want, got)
}

// dying is the driver of a program that dies at its n-th call that has to do with flows, or whose reply is lost.
type dying struct {
	redisconn.Driver
	mu   sync.Mutex
	left int
	how  string // "before": Redis does not do it; "after": it does; "lost": it does, and the program lives on
	hit  bool
}

var errLost = errors.New("the connection broke: played")

func (d *dying) dead() bool { d.mu.Lock(); defer d.mu.Unlock(); return d.hit && d.how != "lost" }

func (d *dying) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	refused := &redisconn.ServerError{Code: "WRONGPASS", Message: "WRONGPASS it is dead"}
	if d.dead() {
		return nil, refused
	}
	d.mu.Lock()
	now := false
	if of := calls[0].Script; !d.hit && of != nil && strings.HasPrefix(of.Name, "flow/") {
		d.left--
		now = d.left < 0
		d.hit = now
	}
	d.mu.Unlock()
	if !now {
		return d.Driver.Pipeline(ctx, calls...)
	}
	if d.how != "before" {
		_, _ = d.Driver.Pipeline(ctx, calls...)
	}
	if d.how == "lost" {
		return nil, errLost
	}
	return nil, refused
}

// atEachCall has a program die at each call that it makes about flows, or lose the reply. do tells what it does;
// prepare comes before.
func atEachCall(t *testing.T, prepare func(h *hands), do func(h *hands, enq *work.Enqueuer, d *dying)) {
	t.Helper()
	each(t, func(t *testing.T, s redistest.Server) {
		for _, how := range []string{"before", "after", "lost"} {
			hit, step := true, redistest.Volume(1, 4)
			if strings.Contains(t.Name(), "embedded") {
				step = 4 // it obeys the same scripts, and takes longer
			}
			for n := 0; hit && !t.Failed(); n += step {
				t.Run(fmt.Sprint(how, n), func(t *testing.T) {
					h := newHands(t, s)
					if prepare != nil {
						prepare(h)
					}
					d := &dying{Driver: h.Raw().Driver(), left: n, how: how}
					do(h, pooltest.EnqueuerOn(d, h.Namespace), d)
					hit = d.hit
					assert.True(t, hit || n > 0, "it makes no call")
				})
			}
		}
	})
}
