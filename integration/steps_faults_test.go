package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// What a job reports that travels, each with its id and what it is about.
const (
	stepped = "stepped" // the function of a step has succeeded; Redis need not know yet
	went    = "went on" // it has the result of that step
	rested  = "rested"
	got     = "got" // a message, with what it says
)

// legs are the steps of a job that travels before it rests, and after it has got its message.
const legs = 4

// travel does some steps, sleeps, waits for a message and does as many steps again. ms is how long each takes.
func (m *member) travel(ctx context.Context, job *work.Job, ms int) error {
	walk := func(from int) error {
		for n := from; n < from+legs; n++ {
			of := fmt.Sprintf("%s %d", job.ID, n)
			if _, err := work.Step(ctx, fmt.Sprint("leg ", n), func(ctx context.Context) (int, error) {
				select {
				case <-time.After(time.Duration(ms) * time.Millisecond):
				case <-ctx.Done():
					return 0, context.Cause(ctx)
				}
				report(stepped, of)
				return n, nil
			}); err != nil {
				return err
			}
			report(went, of)
		}
		return nil
	}
	if err := walk(0); err != nil {
		return err
	}
	if err := work.Sleep(ctx, "rest", time.Duration(10*ms)*time.Millisecond); err != nil {
		return err
	}
	report(rested, job.ID)
	ticket, err := work.Receive[string](ctx, "ticket")
	if err != nil {
		return err
	}
	report(got, job.ID+" "+ticket)
	if err := walk(legs); err != nil {
		return err
	}
	report(ended, job.ID)
	return nil
}

// sendTickets sends a message to each of these jobs.
func (f *fleet) sendTickets(to []string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, id := range to {
		require.NoError(f.t, work.Send(ctx, f.enq, id, "ticket", "for "+id))
	}
}

// TestFaultStepsKilled kills processes among jobs that do steps, sleep and wait for messages: while they do steps,
// while they get messages, and the last one while all wait. No step is done again whose result was there before, no
// message is lost, and each job ends.
func TestFaultStepsKilled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	many := pick(60, 600)
	first, second := f.start(20), f.start(20)
	jobs := f.enqueue(many, "travel", 20)
	early, late := jobs[:many/2], jobs[many/2:]
	f.sendTickets(early) // before most of them have begun
	f.ledger.await(t, stepped, first.pid, many/2)
	first.kill()
	f.ledger.await(t, got, second.pid, 3) // nobody else is there to take a job that has its message
	second.kill()
	third := f.start(20)
	f.ledger.awaitAmong(t, early, ended, 0, len(early))
	f.until("the others wait", func() bool {
		n, err := f.sum("ZCARD", "scheduled")
		return err == nil && n == len(late)
	})
	third.kill() // nobody is there while they wait
	f.sendTickets(late)
	f.start(20)
	f.settled()
	f.traveled(jobs)
	for _, id := range jobs {
		for _, of := range []string{"steps:", "mail:"} {
			left, err := f.sum("EXISTS", of+id)
			assert.NoError(t, err)
			assert.Zero(t, left, of+id)
		}
	}
	f.healthy()
}

// traveled checks what jobs have reported that traveled.
func (f *fleet) traveled(jobs []string) {
	f.t.Helper()
	known := map[string]bool{} // steps whose results some attempt had
	for _, e := range f.ledger.of(went, 0) {
		known[e.Of] = true
	}
	by := map[string][]int{} // processes that did it, in order
	again := map[string]int{}
	for _, e := range f.ledger.of(stepped, 0) {
		by[e.Of] = append(by[e.Of], e.Member)
	}
	for of, members := range by {
		for _, member := range members[:len(members)-1] {
			_, died := f.killed[member]
			assert.True(f.t, died, "step %s was done again after process %d, which lives", of, member)
			id, _, _ := strings.Cut(of, " ")
			again[fmt.Sprint(id, " of ", member)]++
		}
	}
	for of, n := range again {
		assert.Equal(f.t, 1, n, "job %s: more than the step under way was done again", of)
	}
	for _, id := range jobs {
		for n := range 2 * legs {
			of := fmt.Sprintf("%s %d", id, n)
			assert.NotEmpty(f.t, by[of], of)
			assert.True(f.t, known[of], of)
		}
	}
	f.doneOnceWhereKnown()
	tickets := map[string]bool{}
	for _, e := range f.ledger.of(got, 0) {
		id, ticket, _ := strings.Cut(e.Of, " ")
		assert.Equal(f.t, "for "+id, ticket)
		tickets[id] = true
	}
	assert.Len(f.t, tickets, len(jobs))
	assert.Len(f.t, f.ledger.times(rested), len(jobs))
}

// doneOnceWhereKnown checks that no step was done after an attempt had its result.
func (f *fleet) doneOnceWhereKnown() {
	f.t.Helper()
	first := map[string]time.Time{}
	for _, e := range f.ledger.of(went, 0) {
		if at, is := first[e.Of]; !is || e.At.Before(at) {
			first[e.Of] = e.At
		}
	}
	for _, e := range f.ledger.of(stepped, 0) {
		at, is := first[e.Of]
		assert.True(f.t, !is || !e.At.After(at), "step %s was done %v after its result was there", e.Of, e.At.Sub(at))
	}
}

// until waits until something is so.
func (f *fleet) until(what string, so func() bool) {
	f.t.Helper()
	require.Eventually(f.t, so, patience, 50*time.Millisecond, what)
}
