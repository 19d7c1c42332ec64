package resize

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// keptPauses is how long it is remembered that a queue was resumed: longer than anybody who has said something of it
// before may take to say that in all partitions.
const keptPauses = 24 * time.Hour

// TrimPauses forgets when queues were paused or resumed last, of those that go on everywhere: else names would be kept
// for ever of which nothing else is known. A version is kept for the sake of what was said before and comes later. So
// nothing is forgotten unless all partitions answer, also those that are closed, since they may be opened again: none
// of them takes the queue for paused, nor has to tell another one anything of it, and what was said last is a day old.
func TrimPauses(ctx context.Context, directory *partition.Directory) error {
	m := directory.Map()
	if m.Single() {
		return nil
	}
	now, err := directory.Store(0).NextVersion(ctx, nil)
	if err != nil {
		return at(0, err)
	}
	known, kept := make([]map[string]rdb.Pause, m.Len()), map[string]bool{}
	for i := range m.Len() {
		hints, err := directory.Store(i).Hints(ctx)
		if err == nil {
			known[i], err = directory.Store(i).Pauses(ctx)
		}
		if err != nil {
			return at(i, err)
		}
		for _, hint := range hints {
			kept[hint.Name] = true
		}
		for name, pause := range known[i] {
			if pause.Paused || pause.Version > now-keptPauses.Milliseconds() {
				kept[name] = true
			}
		}
	}
	for i, pauses := range known {
		var old []rdb.Pause
		for name, pause := range pauses {
			if !kept[name] {
				old = append(old, pause)
			}
		}
		if err := directory.Store(i).AtMap(m.Version).ForgetPauses(ctx, old); err != nil {
			return at(i, err)
		}
	}
	return nil
}
