package doctor

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// long puts n jobs into a queue and returns their ids, the one that is next first.
func (w *ward) long(queue string, n int) []string {
	w.T.Helper()
	ids := make([]string, n)
	for from := 0; from < n; from += 1000 {
		entries := make([]work.Entry, min(1000, n-from))
		for i := range entries {
			ids[from+i] = fmt.Sprint(queue, from+i)
			entries[i] = work.Entry{Name: queue, Options: []work.EnqueueOption{work.ID(ids[from+i])}}
		}
		_, err := w.Enq.EnqueueMany(w.Ctx(), entries)
		require.NoError(w.T, err)
	}
	return ids
}

// standing is what stands in a queue, the one that is next first, without what was struck out.
func (w *ward) standing(queue string) []string {
	ids := w.strings("LRANGE", "queue:"+queue, 0, -1)
	slices.Reverse(ids)
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

// Wherever in a queue an id stands twice: both are found, the one nearest to the front stays, and all others keep their
// order.
func TestDoctorMendsWhatStandsTwiceAnywhere(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		twice string // the id
		at    []int  // behind which others it stands once more
	}{
		"both deep, far apart":         {"b300", []int{900}},
		"side by side, between pages":  {"b499", []int{499}},
		"near the front and deep":      {"b20", []int{700}},
		"three times":                  {"b300", []int{600, 1190}},
		"the first and the last there": {"b0", []int{1199}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				w := newWard(t, s)
				ids := w.long("b", 1200)
				for _, at := range row.at {
					w.Do("LINSERT", "queue:b", "BEFORE", ids[at], row.twice)
				}
				looked := w.examineWithin(100, false)
				found := foundTwice(looked)
				require.NotEmpty(t, found)
				assert.Equal(t, row.twice, found[0].ID)
				assert.False(t, looked.Healthy())
				mended := foundTwice(w.examineWithin(100, true))
				require.NotEmpty(t, mended)
				assert.True(t, mended[0].Repaired)
				assert.Equal(t, ids, w.standing("b"))
				assert.Empty(t, foundTwice(w.examineWithin(100, false)))
				w.seenByOthers(len(ids), len(row.at) > 1)
			})
		})
	}
}

// seenByOthers looks at the queue as pages do, and may then run what is in it.
func (w *ward) seenByOthers(jobs int, run bool) {
	w.T.Helper()
	found := 0
	for cursor := ""; ; {
		page, err := w.doctor.Page(w.Ctx(), inspect.PageOptions{State: work.StateQueued, Name: "b", Limit: 500,
			Cursor: cursor})
		require.NoError(w.T, err)
		for _, job := range page.Jobs {
			if job != nil && job.ID != "" {
				found++
			}
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	assert.Equal(w.T, jobs, found)
	if !run || w.Server.Embedded() != nil {
		return // to run so many takes the embedded one minutes
	}
	ran := w.run()
	assert.Len(w.T, ran, jobs+len(allJobs))
	for id, times := range ran {
		assert.Equal(w.T, 1, times, id)
	}
}

// An id that waits in two queues, deep in both, stays where its record says.
func TestDoctorMendsWhatStandsInTwoLongQueues(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		w := newWard(t, s)
		b, c := w.long("b", 1200), w.long("c", 1200)
		w.Do("LINSERT", "queue:c", "BEFORE", "c600", "b700")
		w.Do("LINSERT", "queue:b", "BEFORE", "b800", "c500")
		for _, repair := range []bool{false, true} {
			found := foundTwice(w.examineWithin(100, repair))
			require.Len(t, found, 2)
			for _, f := range found {
				assert.Equal(t, f.ID[:1], f.Queue)
			}
		}
		assert.Equal(t, b, w.standing("b"))
		assert.Equal(t, c, w.standing("c"))
		assert.Empty(t, foundTwice(w.examineWithin(100, false)))
	})
}

// foundTwice are the findings about that; nobody serves c, which is one as well.
func foundTwice(d *Diagnosis) (found []Finding) {
	for _, f := range d.Findings {
		if f.Check == CheckTwice {
			found = append(found, f)
		}
	}
	return found
}

// Many stand there twice, as when two programs have put them back: one examination mends that.
func TestDoctorMendsManyThatStandTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		w := newWard(t, s)
		ids := w.long("b", 600)
		var again []any
		for _, id := range ids[450:550] { // on both sides of the end of a page
			again = append(again, id)
		}
		w.Do("LPUSH", "queue:b", again...)
		w.examineWithin(100, true)
		assert.Equal(t, ids, w.standing("b"))
		assert.Empty(t, foundTwice(w.examineWithin(100, false)))
	})
}

// With as many jobs as the doctor sees of a queue from its ends, and more: 10,000 from either of them.
func TestDoctorFindsWhatStandsTwiceBeyondItsReach(t *testing.T) {
	t.Parallel()
	w := newWard(t, redistest.Real(t))
	ids := w.long("b", 23_000)
	w.Do("LINSERT", "queue:b", "BEFORE", ids[12_500], ids[10_500])
	require.Len(t, foundTwice(w.examine(true)), 1)
	assert.Equal(t, ids, w.standing("b"))
}
