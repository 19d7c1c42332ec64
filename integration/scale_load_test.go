package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/internal/redistest"
)

// callers is how many enqueue at once, each one job after the other, one every pace unless a test says otherwise.
const (
	callers = 4
	pace    = 10 * time.Millisecond
)

// load is jobs of all sorts that are enqueued and worked while something happens to the servers.
type load struct {
	*fleet
	servers servers
	options []work.EnqueueOption
	pace    time.Duration

	end     context.CancelFunc
	callers sync.WaitGroup

	mu    sync.Mutex
	known map[string]time.Time // when each job was acknowledged
	fails map[string]int       // enqueues that were not, by what was said
	few   map[string]bool      // ids of the jobs whose name has a limit
}

// startLoad starts servers with these arguments, two workers and the enqueuers.
func startLoad(t *testing.T, layout string, args []string, options ...work.EnqueueOption) *load {
	t.Helper()
	namespace := redistest.Namespace(t)
	return startLoadOn(t, layouts[layout](t, namespace, args...), namespace, partitionsOfFaults(t), options...)
}

// startLoadOn is startLoad on servers that there are, in a namespace of so many partitions.
func startLoadOn(t *testing.T, on servers, namespace string, partitions int, options ...work.EnqueueOption) *load {
	t.Helper()
	l := newLoad(t, on, namespace, partitions)
	l.options = options
	l.begin()
	return l
}

// newLoad is one that has yet to begin.
func newLoad(t *testing.T, on servers, namespace string, partitions int) *load {
	t.Helper()
	f := newFleetOf(t, namespace, on.DSN(), on.DSN(), partitions)
	f.ticks = true
	return &load{fleet: f, servers: on, pace: pace, known: map[string]time.Time{}, fails: map[string]int{},
		few: map[string]bool{}}
}

func (l *load) begin() {
	l.t.Helper()
	l.start(10)
	l.start(10)
	ctx, cancel := context.WithCancel(context.Background())
	l.end = cancel
	for caller := range callers {
		l.callers.Go(func() { l.enqueueUntil(ctx, caller) })
	}
	l.t.Cleanup(func() {
		cancel()
		l.callers.Wait()
	})
	l.ledger.await(l.t, ended, 0, 100)
}

func (l *load) enqueueUntil(ctx context.Context, caller int) {
	for n := 0; ctx.Err() == nil; n++ {
		l.enqueueOne(n, caller)
		<-time.After(l.pace) // the rate of the load
	}
}

// enqueueOne enqueues in turn a plain job, one that is due later, one that fails first, one of a name with a limit, and
// one with a lock that others may hold.
func (l *load) enqueueOne(n, caller int) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var receipt work.Receipt
	var err error
	switch enq := l.enq.With(l.options...); n % 5 {
	case 0:
		receipt, err = enq.Enqueue(ctx, "brief", 2)
	case 1:
		receipt, err = enq.EnqueueIn(ctx, "brief", 300*time.Millisecond, 2)
	case 2:
		receipt, err = enq.Enqueue(ctx, "flaky", 2)
	case 3:
		receipt, err = enq.Enqueue(ctx, "narrow", 2)
	case 4:
		receipt, err = enq.With(l.lock(caller)).Enqueue(ctx, "brief", 2)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err != nil:
		l.fails[err.Error()]++
	case !receipt.Duplicate:
		l.known[receipt.ID] = time.Now()
		l.few[receipt.ID] = n%5 == 3
	}
}

func (l *load) lock(caller int) work.EnqueueOption {
	return work.Unique(work.UniqueOptions{Key: fmt.Sprint("lock ", caller)})
}

// worksAfter waits until a job has ended and is acknowledged, which it was not before that time, and returns how much
// later that was. A job may end first: a primary that was cut off gave it to a worker, and could not confirm it.
func (l *load) worksAfter(at time.Time) time.Duration {
	l.t.Helper()
	seen := len(l.ledger.of(ended, 0))
	var took time.Duration
	if !assert.Eventually(l.t, func() bool {
		all := l.ledger.of(ended, 0)
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, e := range all[max(0, seen-100):] {
			if known := l.known[e.Of]; known.After(at) {
				took = max(known.Sub(at), e.At.Sub(at))
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, "no job that was enqueued afterwards ends") {
		require.FailNow(l.t, "wedged", "refused:%s", l.said())
	}
	return took
}

// drained ends the load and waits until everything that Redis knows of has ended. It returns which of the acknowledged
// jobs never did.
func (l *load) drained() (lost []string) {
	l.t.Helper()
	l.end()
	l.callers.Wait()
	l.accepted = slices.Collect(maps.Keys(l.known))
	var left error
	if !assert.Eventually(l.t, func() bool {
		left = l.nothingLeft()
		return left == nil
	}, patience, 50*time.Millisecond) {
		require.NoError(l.t, left)
	}
	ends := l.ledger.times(ended)
	for _, id := range l.accepted {
		if ends[id] == 0 {
			lost = append(lost, id)
		}
	}
	assert.Empty(l.t, l.ledger.of(buried, 0))
	assert.Empty(l.t, l.ledger.of("unreadable", 0))
	return lost
}

func (l *load) nothingLeft() error {
	for _, of := range []string{"jobs", "claimed", "scheduled", "retry", "crashes", "trail", "names", "morgue"} {
		left, err := l.sum("EXISTS", of)
		if err != nil {
			return err
		}
		if left != 0 {
			return errors.New("there is something left in " + of)
		}
	}
	return nil
}

// goesOn checks that nothing is wedged: every lock is free, the limit lets jobs run, the schedule ticks, and the doctor
// finds nothing.
func (l *load) goesOn() {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var more []string
	for caller := range callers {
		receipt, err := l.enq.With(l.lock(caller)).Enqueue(ctx, "brief", 1)
		require.NoError(l.t, err)
		assert.False(l.t, receipt.Duplicate, "lock %d is held by %s, which has ended", caller, receipt.ID)
		more = append(more, receipt.ID)
	}
	for range 3 * narrow {
		receipt, err := l.enq.Enqueue(ctx, "narrow", 1)
		require.NoError(l.t, err)
		more = append(more, receipt.ID)
	}
	l.ledger.awaitAmong(l.t, more, ended, 0, len(more))
	l.ledger.await(l.t, ticked, 0, len(l.ledger.of(ticked, 0))+2)
	l.found(ctx)
}

// found waits until the doctor has nothing to say: a tick may be on its way while he looks.
func (l *load) found(ctx context.Context) {
	l.t.Helper()
	inspector, err := inspect.New(l.direct, work.Namespace(l.namespace))
	require.NoError(l.t, err)
	defer func() { _ = inspector.Close() }()
	var diagnosis *doctor.Diagnosis
	if !assert.Eventually(l.t, func() bool {
		diagnosis, err = doctor.Examine(ctx, inspector, doctor.Options{})
		return err == nil && diagnosis.Healthy()
	}, patience, 200*time.Millisecond) {
		require.NoError(l.t, err)
		assert.Empty(l.t, diagnosis.Findings)
	}
}

// told waits until the enqueuer has told of every job that was lost. It looks by itself half a minute after its last
// call.
func (l *load) told(lost []string) {
	l.t.Helper()
	var untold []string
	assert.Eventually(l.t, func() bool {
		known := l.ledger.times(told)
		untold = slices.DeleteFunc(slices.Clone(lost), func(id string) bool { return known[id] > 0 })
		return len(untold) == 0
	}, patience, 200*time.Millisecond)
	assert.Empty(l.t, untold, "lost, and nobody says so")
}

// again is how many jobs were begun more often than they asked for.
func (l *load) again() (jobs int) {
	asked := l.ledger.times(erred)
	for id, n := range l.ledger.times(begun) {
		if n > 1+min(1, asked[id]) {
			jobs++
		}
	}
	return jobs
}

// said are the errors of enqueues, and how many there were of each, for the log.
func (l *load) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := ""
	for _, err := range slices.Sorted(maps.Keys(l.fails)) {
		text += fmt.Sprintf("\n%d times: %s", l.fails[err], err)
	}
	return text
}
