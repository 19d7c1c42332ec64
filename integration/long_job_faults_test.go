package integration

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// saved is reported by a long job after each step that it has saved, with the number of the step.
const saved = "saved"

// steps are those of a long job: all of them, without the gate, in the processes that have opened it.
const (
	steps   = 10
	halfway = 5
)

// climb does its steps from the one on that it has saved, and waits half way at the gate.
func (m *member) climb(ctx context.Context, job *work.Job) error {
	step := 0
	if _, err := job.LoadState(ctx, &step); err != nil {
		return err
	}
	job.Logger().Info("begun", "step", step)
	for ; step < steps; step++ {
		if step == halfway {
			<-m.gate
		}
		if err := job.SaveState(ctx, step+1); err != nil {
			return err
		}
		job.Logger().Info("saved", "step", step+1)
		report(saved, fmt.Sprint(step+1))
	}
	report(ended, job.ID)
	return nil
}

// TestFaultLongJobKilled kills the process of a long job with SIGKILL: the next one goes on from what was saved, and
// the log of both is one.
func TestFaultLongJobKilled(t *testing.T) {
	t.Parallel()
	f := newFleet(t, redistest.Real(t).DSN())
	inspector, err := inspect.New(f.direct, work.Namespace(f.namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	victim := f.start(1)
	id := f.enqueue(1, "climb")[0]
	f.ledger.await(t, saved, victim.pid, halfway)
	var followed []string
	following := make(chan struct{})
	seen := make(chan struct{}, 3*steps)
	go func() {
		defer close(following)
		for line, err := range inspector.FollowLog(t.Context(), id) {
			if !assert.NoError(t, err) {
				return
			}
			followed = append(followed, line.Message+string(line.Attrs))
			seen <- struct{}{}
		}
	}()
	for range 1 + halfway { // the lines are sent within a fifth of a second: all that was logged before the kill
		<-seen
	}
	victim.kill()
	survivor := f.start(1)
	survivor.open()
	f.ledger.await(t, ended, survivor.pid, 1)
	of := f.ledger.of(saved, survivor.pid)
	assert.Len(t, of, steps-halfway, "nothing is done again that was saved")
	assert.Equal(t, fmt.Sprint(halfway+1), of[0].Of)
	<-following // the job has ended
	want := []string{`begun{"step":0}`}
	for step := range steps {
		if step == halfway {
			want = append(want, fmt.Sprintf(`begun{"step":%d}`, step))
		}
		want = append(want, fmt.Sprintf(`saved{"step":%d}`, step+1))
	}
	assert.Equal(t, want, followed)
	_, err = inspector.Log(t.Context(), id, 0)
	require.ErrorIs(t, err, work.ErrNotFound, "the log went away with the job")
}
