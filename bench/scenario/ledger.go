package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/bench/peer"
)

// ledger books every run of every job by its id.
type ledger struct {
	seen    []atomic.Uint32
	foreign atomic.Int64 // runs of ids that were never stored
	ran     atomic.Int64
	begun   atomic.Int64 // when the first one ran, UnixNano
	marks   []mark
	done    chan struct{} // closed when as many have run as there are
	started time.Time
}

// mark is a moment to be kept: when so many jobs had run.
type mark struct {
	at   int64
	when atomic.Int64
}

func newLedger(jobs int, marks ...int) *ledger {
	l := &ledger{seen: make([]atomic.Uint32, jobs), done: make(chan struct{}), started: time.Now(),
		marks: make([]mark, len(marks))}
	for i, at := range marks {
		l.marks[i].at = int64(at)
	}
	return l
}

// book is what handlers call.
func (l *ledger) book(args peer.Args) {
	if args.ID < 0 || args.ID >= int64(len(l.seen)) {
		l.foreign.Add(1)
		return
	}
	l.seen[args.ID].Add(1)
	n := l.ran.Add(1)
	if n == 1 {
		l.begun.Store(int64(time.Since(l.started)))
	}
	for i := range l.marks {
		if l.marks[i].at == n {
			l.marks[i].when.Store(int64(time.Since(l.started)))
		}
	}
	if n == int64(len(l.seen)) {
		close(l.done)
	}
}

// first is when the first job ran.
func (l *ledger) first() time.Time { return l.started.Add(time.Duration(l.begun.Load())) }

// markedAt is when the i-th mark was reached.
func (l *ledger) markedAt(i int) time.Time {
	return l.started.Add(time.Duration(l.marks[i].when.Load()))
}

// wait returns when as many jobs have run as were stored, with an error if none runs for too long.
func (l *ledger) wait(ctx context.Context) error {
	watch := time.NewTicker(patience)
	defer watch.Stop()
	last := int64(-1)
	for {
		select {
		case <-l.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-watch.C:
			ran := l.ran.Load()
			if ran == last {
				return fmt.Errorf("%d of %d jobs have run, and none for %v", ran, len(l.seen), patience)
			}
			last = ran
		}
	}
}

// check tells whether every job ran exactly once. Call it when the worker has stopped.
func (l *ledger) check() error {
	var errs []error
	missing, doubled, example := 0, 0, -1
	for id := range l.seen {
		switch l.seen[id].Load() {
		case 0:
			missing, example = missing+1, id
		case 1:
		default:
			doubled, example = doubled+1, id
		}
	}
	if missing+doubled > 0 {
		errs = append(errs, fmt.Errorf("of %d jobs %d did not run and %d ran more than once, job %d for instance",
			len(l.seen), missing, doubled, example))
	}
	if n := l.foreign.Load(); n > 0 {
		errs = append(errs, fmt.Errorf("%d jobs ran that were never stored", n))
	}
	return errors.Join(errs...)
}
