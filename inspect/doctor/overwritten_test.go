package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// Whatever key another program overwrites, a repair sets it aside and makes of the records what can be made.
func TestDoctorMendsWhatWasOverwritten(t *testing.T) {
	t.Parallel()
	all := map[string]int{}
	for _, id := range allJobs {
		all[id] = 1
	}
	rows := map[string]map[string]int{"jobs": {}, "queue:a": all, "wake:a": all, "inprocess": all}
	for key := range typeOf {
		if key != "jobs" && typeOf[key] != "string" {
			rows[key] = all
		}
	}
	for key, want := range rows {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				w := newWard(t, s)
				name := key
				if key == "inprocess" {
					name = w.inProcess()
				}
				w.Do("SET", name, "text")
				looked := w.examine(false)
				assert.False(t, looked.Healthy())
				require.Equal(t, CheckKeyType, looked.Findings[0].Check)

				mended := w.examine(true)
				for _, f := range mended.Findings {
					if f.Check != CheckGhost && f.Severity != SeverityInfo {
						assert.True(t, f.Repaired, "%+v", f)
					}
				}
				again := w.examine(true)
				for _, f := range again.Findings {
					assert.Contains(t, []Check{CheckSetAside, CheckUnserved, CheckGhost}, f.Check, "%+v", f)
				}
				if key != "jobs" {
					assert.True(t, again.Healthy())
				}
				assert.Equal(t, want, w.run())
			})
		})
	}
}
