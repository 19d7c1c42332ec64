package work

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// TestDoctorKnowsTheKeysOfAFleetThatUsesEverything: none of them is strange to it.
func TestDoctorKnowsTheKeysOfAFleetThatUsesEverything(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, leave := make(chan struct{}, 1), make(chan struct{})
		pool := NewWorkerPool(nil, 4, k.options()).
			JobWithOptions("long", JobOptions{Limit: Limit{Concurrent: 2, Rate: 100, Per: time.Minute}},
				func(job *Job) error {
					job.Logger().Info("it begins")
					if err := job.SaveState(t.Context(), 1); err != nil {
						return err
					}
					if err := job.Progress(1); err != nil {
						return err
					}
					begun <- struct{}{}
					<-leave
					return errLuck
				}).
			Job("quick", func(string) (int, error) { return 1, nil }).
			Periodic("@yearly", "quick", "x")
		k.start(pool)
		defer close(leave)
		for _, e := range []Entry{
			{Name: "long", Options: []EnqueueOption{Unique(UniqueOptions{Key: "k"}), Completion("ends")}},
			{Name: "quick", Args: []any{"a"}, Options: []EnqueueOption{Retention(time.Hour), Completion("ends")}},
			{Name: "quick", Args: []any{"b"}, In: time.Hour},
			{Name: "nobody"},
		} {
			_, err := k.enqueueEntry(e)
			require.NoError(t, err)
		}
		receive(t, begun)
		i := k.inspector()
		require.NoError(t, i.PauseQueue(k.ctx(), "other"))
		k.until("its history is told", func() bool {
			history, err := i.History(k.ctx(), HistoryOptions{Names: []string{"quick"}})
			require.NoError(t, err)
			return sum(history["quick"]).Done == 1
		})
		diagnosis, err := i.Doctor(k.ctx(), DoctorOptions{})
		require.NoError(t, err)
		for _, finding := range diagnosis.Findings {
			assert.NotEqual(t, CheckUnknownKey, finding.Check, finding)
		}
	})
}
