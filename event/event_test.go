package event_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/event"
)

// What is about a job is known by its method, whatever else it tells.
func TestEventsOfJobsAreKnown(t *testing.T) {
	t.Parallel()
	ref := event.JobRef{ID: "7", Name: "mail", Attempt: 2}
	var e event.Event = event.JobDone{JobRef: ref}
	of, is := e.(interface{ Ref() event.JobRef })
	assert.True(t, is)
	assert.Equal(t, ref, of.Ref())
	assert.Equal(t, "mail 7", of.Ref().String())
	e = event.WorkerStarted{}
	_, is = e.(interface{ Ref() event.JobRef })
	assert.False(t, is)
}
