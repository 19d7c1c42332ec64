package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestDoctorKnowsTheKeysOfAFleetThatUsesEverything: none of them is strange to it.
func TestDoctorKnowsTheKeysOfAFleetThatUsesEverything(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun, leave := make(chan struct{}, 1), make(chan struct{})
		pool := work.NewWorkerPool(nil, 4, k.Options()).
			JobWithOptions("long", work.JobOptions{Limit: work.Limit{Concurrent: 2, Rate: 100, Per: time.Minute}},
				func(job *work.Job) error {
					job.Logger().Info("it begins")
					if err := job.SaveState(t.Context(), 1); err != nil {
						return err
					}
					if err := job.Progress(1); err != nil {
						return err
					}
					begun <- struct{}{}
					<-leave
					return pooltest.ErrLuck
				}).
			Job("quick", func(string) (int, error) { return 1, nil }).
			Periodic("@yearly", "quick", "x")
		k.Start(pool)
		defer close(leave)
		for _, e := range []work.Entry{
			{Name: "long", Options: []work.EnqueueOption{work.Unique(work.UniqueOptions{Key: "k"}),
				work.Completion("ends")}},
			{Name: "quick", Args: []any{"a"}, Options: []work.EnqueueOption{work.Retention(time.Hour),
				work.Completion("ends")}},
			{Name: "quick", Args: []any{"b"}, In: time.Hour},
			{Name: "nobody"},
		} {
			_, err := k.EnqueueEntry(e)
			require.NoError(t, err)
		}
		pooltest.Receive(t, begun)
		i := k.inspector()
		require.NoError(t, i.PauseQueue(k.Ctx(), "other"))
		k.Until("its history is told", func() bool {
			history, err := i.History(k.Ctx(), inspect.HistoryOptions{Names: []string{"quick"}})
			require.NoError(t, err)
			done := int64(0)
			for _, point := range history["quick"] {
				done += point.Done
			}
			return done == 1
		})
		diagnosis, err := Examine(k.Ctx(), i, Options{})
		require.NoError(t, err)
		for _, finding := range diagnosis.Findings {
			assert.NotEqual(t, CheckUnknownKey, finding.Check, finding)
		}
	})
}
