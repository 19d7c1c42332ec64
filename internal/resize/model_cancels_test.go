package resize_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// cancel cancels a job that is known to be stored, in one partition after the other until one has it, as programs do.
// Between two of these others go on.
func (w *world) cancel() {
	e := w.someone()
	if e == nil || w.endedByMover(e) {
		return
	}
	all := true
	for _, i := range w.rng.Perm(partitions) {
		if w.faults[i] != "" {
			all = false
			continue
		}
		results, err := ending.Cancel(context.Background(),
			rdb.NewStore(w.faulty, partition.Namespace(w.namespace, i)), []string{e.id})
		require.NoError(w.t, err)
		effect := results[0].Effect
		w.note("job %d, %s, is cancelled in partition %d: %s", e.number, e.id, i, effect)
		switch effect {
		case ending.Ended:
			require.Equal(w.t, stored, e.state, "job %d was cancelled where it waited, in partition %d", e.number, i)
			e.state = gone
			return
		case ending.Flagged:
			require.NotEqual(w.t, buried, e.state, "job %d will end as cancelled", e.number)
			e.flagged = true
			return
		case ending.Leaving: // where it goes it may have begun, and end as done before anybody brings the flag
			e.leaving = true
		case ending.Dead:
			require.Equal(w.t, buried, e.state, "job %d is dead", e.number)
			return
		}
	}
	require.False(w.t, all && !e.leaving, "job %d, %s, is %s, and no partition finds it to cancel it", e.number, e.id,
		e.state)
}

// someone is a job that surely is somewhere.
func (w *world) someone() *entry {
	var there []int
	for number, e := range w.jobs {
		if e.acked && e.lives() {
			there = append(there, number)
		}
	}
	if len(there) == 0 {
		return nil
	}
	slices.Sort(there)
	return w.jobs[there[w.rng.IntN(len(there))]]
}

// endedByMover tells whether a mover has ended a job that was to end as cancelled, as it found it where it brought it.
func (w *world) endedByMover(e *entry) bool {
	if !e.flagged && !e.leaving || e.state != stored {
		return false
	}
	another, told := false, false
	for i := range partitions {
		for _, key := range []string{"jobs", "frozen"} {
			raw, _ := w.plain(i, "HGET", key, e.id).([]byte)
			text := string(raw)
			its := strings.Contains(text, fmt.Sprintf(`"t":%d}`, e.number)) ||
				strings.Contains(text, fmt.Sprintf(`"t":%d,`, e.number))
			if its && (key == "jobs" || !w.received(i, text)) {
				return false
			}
			another = another || raw != nil && !its
		}
		outcome, _ := w.plain(i, "HGET", "outcomes", e.id).([]byte)
		told = told || strings.Contains(string(outcome), "cancelled")
	}
	require.True(w.t, told || another, "job %d, %s, was cancelled, and nothing says that it has ended", e.number, e.id)
	e.state = gone
	return true
}

// received tells whether the target of a batch has had it, of which this was frozen in a partition: what is told of it
// there counts, though it is still to be forgotten here.
func (w *world) received(from int, frozen string) bool {
	target, number := 0, ""
	_, err := fmt.Sscan(frozen, &target, &number)
	require.NoError(w.t, err)
	last, _ := w.plain(target, "HGET", "lanes", fmt.Sprintf("move:%d", from)).([]byte)
	return strings.HasPrefix(string(last), number+" ")
}
