package intake_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/rdb"
)

// beside makes a call that stores something, which is answered so, and returns what it is called in its lane.
func beside(t *testing.T, in *intake.Intake, kind intake.Kind, noted rdb.Noted, id string) rdb.LaneCall {
	t.Helper()
	call, err := in.Beside(0, kind)
	require.NoError(t, err)
	defer call.End()
	at := call.Call()
	call.Answered(noted, id)
	return at
}

func TestWhatIsStoredBesideEnqueuesIsNumbered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, _, _, _ := lossy(t, func(context.Context, sentCall) (rdb.Enqueued, error) { return stored, nil })
		first := beside(t, in, intake.AFlow, rdb.Noted{}, "f")
		next := beside(t, in, intake.AFlow, rdb.Noted{Err: errClosed}, "g")
		assert.Equal(t, rdb.LaneCall{Lane: first.Lane, Number: 2, Known: 1}, next)
		assert.Equal(t, rdb.LaneCall{Lane: first.Lane, Number: 3, Known: 1},
			beside(t, in, intake.AFlow, rdb.Noted{}, "h"), "what was not noted is not known")
		assert.NotEqual(t, first.Lane, beside(t, in, intake.AMember, rdb.Noted{}, "h/x").Lane)
		one, err := in.Beside(0, intake.AFlow)
		require.NoError(t, err)
		defer one.End()
		assert.NotEqual(t, first.Lane, beside(t, in, intake.AFlow, rdb.Noted{}, "i").Lane, "it is under way")
	})
}

func TestFlowsThatAFailoverLostAreToldWithTheNextCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, store, told, _ := lossy(t, func(context.Context, sentCall) (rdb.Enqueued, error) { return stored, nil })
		require.NoError(t, put(t.Context(), in, "job").Err)
		var lane string
		for _, id := range []string{"f", "", "g", "h"} {
			lane = beside(t, in, intake.AFlow, rdb.Noted{}, id).Lane
		}
		members := beside(t, in, intake.AMember, rdb.Noted{}, "h/x").Lane
		store.goBack(store.sent()[0].lane, 1)
		store.goBack(members, 0)
		store.goBack(lane, 5)
		beside(t, in, intake.AFlow, rdb.Noted{Rewound: rdb.Rewind{Had: 1, At: 5}}, "i")
		synctest.Wait()
		assert.Equal(t, []intake.Loss{{IDs: []string{"h/x"}, Flows: []string{"g", "h"}, Failover: true}}, told.take(),
			"without the one that somebody else had stored, and without the one that found it")
	})
}

func TestAQuietIntakeLooksForFlowsToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, store, told, _ := lossy(t, func(context.Context, sentCall) (rdb.Enqueued, error) { return stored, nil })
		beside(t, in, intake.AFlow, rdb.Noted{}, "f")
		store.goBack(beside(t, in, intake.AFlow, rdb.Noted{}, "g").Lane, 1)
		elapse(31 * time.Second)
		assert.Equal(t, []intake.Loss{{Flows: []string{"g"}, Failover: true}}, told.take())
	})
}

func TestNothingIsStoredBesideOnceTheIntakeIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := intake.New(configured(&played{}))
		under, err := in.Beside(0, intake.AFlow)
		require.NoError(t, err)
		closed := make(chan error)
		go func() { closed <- in.Close() }()
		synctest.Wait()
		select {
		case err := <-closed:
			assert.Fail(t, "Close does not wait for a call that is under way", "it returned %v", err)
		default:
		}
		_, err = in.Beside(0, intake.AFlow)
		require.ErrorIs(t, err, errClosed)
		under.End()
		require.NoError(t, <-closed)
	})
}
