package worktest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/event"
)

func done(id string) event.Event { return event.JobDone{JobRef: event.JobRef{ID: id, Name: "a"}} }

func TestWaitForFindsWhatCameAndWhatComes(t *testing.T) {
	t.Parallel()
	s := NewSpy()
	s.Observe(done("1"))
	s.Observe(event.JobsDropped{Count: 3})
	assert.Equal(t, 3, WaitFor[event.JobsDropped](t, s, nil).Count)
	assert.Equal(t, "1", WaitFor[event.JobDone](t, s, nil).ID, "the first")
	go func() { s.Observe(done("2")); s.Observe(done("3")) }()
	assert.Equal(t, "3", WaitFor(t, s, func(e event.JobDone) bool { return e.ID == "3" }).ID)
	assert.Equal(t, done("2"),
		WaitFor(t, s, func(e event.Event) bool { return outcomeOf(e) != nil && outcomeOf(e).ID == "2" }), "of any type")
	assert.Equal(t, 3, CountOf[event.JobDone](s))
	assert.Equal(t, 4, CountOf[event.Event](s))
	assert.Zero(t, CountOf[event.JobFailed](s))
	assert.Equal(t, []event.Event{done("1"), event.JobsDropped{Count: 3}, done("2"), done("3")}, s.Events())
}

func TestWaitForSaysWhatCameInstead(t *testing.T) {
	t.Parallel()
	s := NewSpy()
	wait := func(t testing.TB) { over(t); WaitFor(t, s, func(e event.JobDone) bool { return e.ID == "x" }) }
	assert.Equal(t, "worktest: no JobDone came that matches. There were no events: is the Spy among the Observers of "+
		"the pool, and the pool started?",
		failing(t, wait))
	for range 20 {
		s.Observe(done("1"))
	}
	s.Observe(event.JobFailed{JobRef: event.JobRef{ID: "2", Name: "b", Attempt: 3}, Err: errLuck, RetryIn: 1e9})
	s.Observe(event.JobCheckedIn{JobRef: event.JobRef{ID: "2", Name: "b", Attempt: 3}, Progress: []byte(`{"n":1}`)})
	text := failing(t, wait)
	assert.True(t, strings.HasPrefix(text,
		"worktest: no JobDone came that matches. There were these events:\n  (2 more before these)\n  JobDone a 1, "+
			"attempt 0\n"), text)
	assert.True(t, strings.HasSuffix(text,
		"\n  JobFailed b 2, attempt 3, Err: no luck, RetryIn: 1s\n  JobCheckedIn b 2, attempt 3, Progress: {\"n\":1}"),
		text)
	assert.Equal(t, 21, strings.Count(text, "\n"))
}
