package loss_test

import (
	"testing"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

type kit struct{ *enginetest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{enginetest.NewKit(t, s)} }

// settled awaits that the ends of so many jobs were answered: Redis has none of them a little earlier, and the next may
// have begun before.
func (k *kit) settled(jobs int) {
	k.T.Helper()
	k.Until("ends are answered", func() bool {
		left := jobs
		for _, e := range pooltest.Seen[event.JobsSettled](k.Spy) {
			left -= e.Jobs
		}
		return left <= 0
	})
}

func TestMain(m *testing.M) { redistest.Main(m) }
