package flow

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// State is how far a flow is.
type State string

// The states of a flow.
const (
	Filling   State = "filling"   // it is not sealed: it runs nothing
	Held      State = "held"      // it is in another flow, and its turn has not come
	Running   State = "running"   // some members are left
	Reopening State = "reopening" // Retry was called, and was cut off: call it again
	Done      State = "done"      // all members are done
	DeadEnded State = "dead"      // all members have ended, and not all are done
	Cancelled State = "cancelled" // it was cancelled as a whole, and no member is left
)

// Ended tells whether nothing of the flow is left to run.
func (s State) Ended() bool { return s == Done || s == DeadEnded || s == Cancelled }

// Progress is how far a flow is, as it was at one moment or nearly so.
type Progress struct {
	ID    string
	State State
	Total int // members
	Done  int
	Dead  int // in the morgue, or were when they ended
	// Cancelled are those that were cancelled, by hand or since one that they waited for had not ended well; Otherwise
	// are those that were discarded, have expired or were deleted
	Cancelled, Otherwise int
	Left                 int // have not ended
	Created, Ended       time.Time
	Cancelling, Paused   bool
	Generation           int // 1, and one more with each Retry
}

// Read returns how far a flow is. The error is [ErrNoFlow] where there is none of that id.
func Read(ctx context.Context, enq *work.Enqueuer, id string) (Progress, error) {
	store, err := storeOf(ctx, enq, id)
	if err != nil {
		return Progress{}, err
	}
	return read(ctx, store, id)
}

func read(ctx context.Context, store *rdb.Store, id string) (Progress, error) {
	var p flowdb.Progress
	err := answered(ctx, func(ctx context.Context) (err error) {
		p, err = flowdb.Of(store).Progress(ctx, id)
		return err
	})
	switch {
	case err != nil:
		return Progress{}, fmt.Errorf("flow %s cannot be read: %w", brief(id), err)
	case p.State == "":
		return Progress{}, fmt.Errorf("flow %s: %w", brief(id), ErrNoFlow)
	}
	return Progress{ID: id, State: State(p.State), Total: p.Total, Done: p.Done(), Dead: p.Dead,
		Cancelled: p.Cancelled, Otherwise: p.Otherwise, Left: p.Left, Created: p.Created, Ended: p.Ended,
		Cancelling: p.Cancelling, Paused: p.Paused, Generation: p.Generation}, nil
}

// lookAgain is how often Wait looks at a flow of whose end it was not told: a hint may be lost.
const lookAgain = 5 * time.Second

// Wait waits until a flow has ended, and returns how. When ctx ends the error is its cause, and the Progress is what
// was seen last. It has a connection of its own to listen on, which Redis tells of the end.
func Wait(ctx context.Context, enq *work.Enqueuer, id string) (Progress, error) {
	store, err := storeOf(ctx, enq, id)
	if err != nil {
		return Progress{}, err
	}
	listening, stop := context.WithCancel(ctx)
	look := make(chan struct{}, 1)
	hint := func() {
		select {
		case look <- struct{}{}:
		default:
		}
	}
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		_ = store.Driver().Subscribe(listening, store.Done(), hint, func(message []byte) {
			if string(message) == id+"/" {
				hint()
			}
		})
	}()
	defer func() {
		stop()
		<-heard
	}()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		p, err := read(ctx, store, id)
		if err != nil || p.State.Ended() {
			return p, err
		}
		select {
		case <-look:
		case <-ticker.C:
		case <-ctx.Done():
			return p, context.Cause(ctx)
		}
	}
}
