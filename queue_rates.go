package work

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// ratedMinutes is over how many full minutes a queue tells what became of its jobs.
const ratedMinutes = 5

// rates fills in what was done, failed and died in the last full minutes.
func (i *Inspector) rates(ctx context.Context, infos []QueueInfo) error {
	if len(infos) == 0 {
		return nil // no names would be all names
	}
	now, err := i.store.Time(ctx)
	if err != nil {
		return err
	}
	byName := make(map[string]*QueueInfo, len(infos))
	names := make([]string, len(infos))
	for n := range infos {
		names[n] = infos[n].Name
		byName[names[n]] = &infos[n]
	}
	at := make([]time.Time, ratedMinutes)
	for n := range at {
		at[n] = now.UTC().Truncate(time.Minute).Add(-time.Duration(n+1) * time.Minute)
	}
	return i.store.Minutes(ctx, at, names, func(_ time.Time, sums rdb.Sums) {
		var point HistoryPoint
		point.add(sums.Counts)
		info := byName[sums.Name]
		info.Done, info.Failed, info.Dead = info.Done+point.Done, info.Failed+point.Failed, info.Dead+point.Dead
	})
}
