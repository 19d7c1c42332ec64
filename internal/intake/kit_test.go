package intake_test

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/retry"
)

// played is a store that a test plays.
type played struct {
	play func(ctx context.Context, call sentCall) (rdb.Enqueued, error)

	mu    sync.Mutex
	calls []sentCall
	back  map[string]int64 // where lanes are that went back
	looks int
	// peek, unless nil, waits while a look is under way, after it was answered.
	peek func(ctx context.Context) error
}

// sentCall is one attempt as Redis would see it.
type sentCall struct {
	lane    string
	number  int64
	known   int64
	version int64 // of the map
	ids     []string
	records []string
	nth     int // of all attempts, from 0
}

func (p *played) EnqueueIn(ctx context.Context, in rdb.LaneCall, jobs []rdb.NewJob) (rdb.Enqueued, error) {
	sent := sentCall{lane: in.Lane, number: in.Number, known: in.Known, version: in.Map}
	for _, job := range jobs {
		sent.ids = append(sent.ids, job.ID)
		sent.records = append(sent.records, string(job.Record))
	}
	p.mu.Lock()
	sent.nth = len(p.calls)
	p.calls = append(p.calls, sent)
	p.mu.Unlock()
	return p.play(ctx, sent)
}

func (p *played) sent() []sentCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]sentCall{}, p.calls...)
}

// goBack lets a lane be at that number, whatever was called; below zero it is where it was called.
func (p *played) goBack(lane string, number int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if number < 0 {
		delete(p.back, lane)
		return
	}
	p.back[lane] = number
}

// looked is how often Lanes was called.
func (p *played) looked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.looks
}

// Lanes says that every lane is where its last call was, unless the test says what else.
func (p *played) Lanes(ctx context.Context, lanes []string) ([]rdb.LaneState, error) {
	states := p.states(lanes)
	if p.peek != nil {
		return states, p.peek(ctx)
	}
	return states, nil
}

func (p *played) states(lanes []string) []rdb.LaneState {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.looks++
	states := make([]rdb.LaneState, len(lanes))
	for i, lane := range lanes {
		for _, call := range p.calls {
			if call.lane == lane {
				states[i].Number = call.number
			}
		}
		if at, ok := p.back[lane]; ok {
			states[i].Number = at
		}
	}
	return states
}

// Record says that nothing is stored: tests of conflicts play it anew.
func (p *played) Record(context.Context, string) ([]byte, error) { return nil, nil }

// Amend is not reached where there is no record.
func (p *played) Amend(context.Context, rdb.Amendment) (rdb.Amended, error) {
	return "", errors.New("nothing to amend")
}

// elapse lets the time of a synctest bubble pass, which takes none of ours.
func elapse(d time.Duration) { <-time.After(d) }

var (
	errClosed = errors.New("closed")
	storedAt  = time.UnixMilli(1732100000000)
	stored    = rdb.Enqueued{Time: storedAt}
)

// panicError is what a program would be shown.
type panicError struct {
	value any
	stack string
}

func (e *panicError) Error() string { return fmt.Sprint("panic: ", e.value) }

const timeout = 10 * time.Second

func configured(store intake.Store) intake.Config {
	return intake.Config{
		Site: intake.Site{Store: store}, Clock: &redisclock.Clock{}, Timeout: timeout, Closed: errClosed,
		Steps: retry.Steps{Panicked: func(value any) error { return &panicError{value, string(debug.Stack())} }},
	}
}

// newPlayed makes an intake whose Redis is played. Within synctest its time is the bubble's.
func newPlayed(t *testing.T, play func(ctx context.Context, call sentCall) (rdb.Enqueued, error)) (*intake.Intake,
	*played) {
	t.Helper()
	store := &played{play: play}
	in := intake.New(configured(store))
	t.Cleanup(func() { assert.NoError(t, in.Close()) })
	return in, store
}

func job(id string) *intake.Job {
	return &intake.Job{NewJob: rdb.NewJob{Queue: "a", ID: id, Place: rdb.Back, Record: []byte(`{"jid":"` + id + `"}`)}}
}

// put stores a job with that id.
func put(ctx context.Context, in *intake.Intake, id string) intake.Result {
	return in.Put(ctx, job(id))
}

// occupy fills every lane with one call each, which must not be answered yet, and returns what waits for them.
func occupy(t *testing.T, in *intake.Intake) (wait func()) {
	t.Helper()
	var callers sync.WaitGroup
	for range intake.Lanes {
		callers.Go(func() {
			assert.NoError(t, put(context.Background(), in, "occupies").Err)
		})
	}
	synctest.Wait()
	return callers.Wait
}
