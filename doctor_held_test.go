package work

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// aged is a claim as if it were older than those that the doctor leaves alone.
func aged(claim string) string {
	parts := strings.SplitN(claim, " ", 4)
	parts[2] = fmt.Sprint(time.Now().Add(-2 * settledClaim).UnixMilli())
	return strings.Join(parts, " ")
}

func TestDoctorAsksWorkersWhatTheyHold(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, g := newKit(t, s), newDoor()
		pool := k.quietPool(k.options(), g)
		pool.surveyRound = time.Hour
		k.start(pool)
		doctor := newInspector(k.enq.core.store, defaultMorgueLimit)
		examine := func(repair bool) (found []Finding) {
			diagnosis, err := doctor.Doctor(k.ctx(), DoctorOptions{Repair: repair})
			require.NoError(t, err)
			for _, f := range diagnosis.Findings {
				if f.Check != CheckServer {
					found = append(found, f)
				}
			}
			return found
		}
		job, err := k.enqueueEntry(quietEntry())
		require.NoError(t, err)
		receive(t, g.began)
		came := k.snapshot(pool, job)
		came.claim = aged(came.claim)
		k.do("HSET", "claimed", job.ID, came.claim)
		for _, repair := range []bool{false, true} {
			assert.Empty(t, examine(repair), "it runs, for however long")
		}
		g.leave <- ""
		k.until("it has ended", func() bool { return k.number("HLEN", "claimed") == 0 })

		k.rewind(came)
		for _, repair := range []bool{false, true} {
			found := examine(repair)
			require.Len(t, found, 1, "%+v", found)
			assert.Equal(t, CheckForgotten, found[0].Check)
			assert.Equal(t, job.ID, found[0].ID)
			assert.Equal(t, repair, found[0].Repaired)
		}
		assert.Equal(t, job.ID, receive(t, g.began), "it runs again")
		g.leave <- ""
		k.drained(pool)
		k.unlocked()
	})
}

func TestDoctorNamesAWorkerThatDoesNotSayWhatItHolds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.enqueueNumbers("n", 0, 1)
		pool := k.holding(t, "n", 1)
		silent := pool.id()
		claim := k.strings("HVALS", "claimed")[0]
		pool.crash() // its heartbeat lasts for seconds
		k.do("PEXPIRE", "worker:"+silent, patience.Milliseconds())
		k.do("HSET", "claimed", k.strings("HKEYS", "claimed")[0], aged(claim))
		doctor := newInspector(k.enq.core.store, defaultMorgueLimit)
		doctor.patience = 200 * time.Millisecond
		diagnosis, err := doctor.Doctor(k.ctx(), DoctorOptions{Repair: true})
		require.NoError(t, err)
		var found []string
		for _, f := range diagnosis.Findings {
			if f.Check == CheckSilent {
				found = append(found, f.ID)
			}
		}
		assert.Equal(t, []string{silent}, found)
		assert.Equal(t, 1, k.number("HLEN", "claimed"), "it may hold it")
	})
}
