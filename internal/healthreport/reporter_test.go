package healthreport_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/healthreport"
)

func TestTroubleIsToldOncePerChange(t *testing.T) {
	t.Parallel()
	var events []event.Event
	r := healthreport.Reporter{Component: "fetcher", Emit: func(e event.Event) { events = append(events, e) }}
	first, second := errors.New("first"), errors.New("second")
	for _, err := range []error{nil, nil, first, second, second, nil, nil, second, nil} {
		r.Report(err)
	}
	require.Len(t, events, 4)
	assert.Equal(t, event.Trouble{Component: "fetcher", Err: first}, events[0])
	over := events[1].(event.TroubleOver)
	assert.Equal(t, event.TroubleOver{Component: "fetcher", After: over.After, Failures: 3}, over)
	assert.Equal(t, event.Trouble{Component: "fetcher", Err: second}, events[2])
	assert.Equal(t, 1, events[3].(event.TroubleOver).Failures)
}
