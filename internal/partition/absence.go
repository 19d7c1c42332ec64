package partition

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
)

// Absence finds out whether jobs that no partition has are nowhere. A job that is moved stands in no partition from
// when it is frozen until it has arrived; and who asks one partition after the other may ask its target before and its
// source after. Jobs are moved while the map says nothing of it too: those that a worker had in hand.
//
// So all are asked whether they have frozen it, and then for it once more: had it left before the first time, it has
// arrived by then, and had it left since it is seen as frozen, or there. It can have been moved twice meanwhile only
// if the map has changed.
//
// It is to be had before the first look. A copy of one knows what that one does.
type Absence struct {
	directory *Directory
	asked     *Map // as it was known before the last look
	begun     *Map // as it was known before the first look of those that count
	still     bool // between the last two looks nothing was frozen
	changes   int
	pauses    int
	awaited   time.Time // since when it is known to be on its way
}

// Absence begins to find that out.
func (d *Directory) Absence() *Absence {
	m := d.Map()
	return &Absence{directory: d, asked: m, begun: m}
}

const (
	// how long it is waited before it is looked again whether something has arrived: this grows
	movedPause     = 10 * time.Millisecond
	slowMovedPause = 500 * time.Millisecond
	movedPatience  = 10 * time.Second // a mover that has died is replaced within that, if a worker works there
	maxChanges     = 16               // of the map in a row: longer than for any move of one job
)

// StrandedError says that jobs are frozen in a partition, and nobody brings them to where they are to go.
type StrandedError struct{ Partition, Target int }

func (e *StrandedError) Error() string {
	return fmt.Sprintf("it is on its way from partition %d to partition %d, and does not arrive: where a worker runs, "+
		"it is brought there", e.Partition, e.Target)
}

// Again is asked when no partition has some of the jobs: it tells whether to look for those once more. It waits for
// what is on its way, until ctx ends or nobody has brought it for long, which is an error.
func (a *Absence) Again(ctx context.Context, ids []string) (bool, error) {
	d := a.directory
	if a.still || a.asked.Single() {
		_ = d.Refresh(ctx) // all have just answered: one that fails now knows no more
		now := d.Map()
		if now.Version == a.begun.Version || a.changes >= maxChanges {
			return false, nil
		}
		a.changes++
	}
	a.begun, a.still = a.asked, false
	stranded, err := d.onItsWay(ctx, ids)
	switch {
	case err == nil && stranded == nil:
		a.still, a.awaited, a.pauses = true, time.Time{}, 0
	case a.awaited.IsZero():
		a.awaited = time.Now()
	case time.Since(a.awaited) > movedPatience && err != nil:
		return false, err
	case time.Since(a.awaited) > movedPatience:
		return false, stranded
	}
	if !a.still {
		if !backoff.Pause(ctx, min(slowMovedPause, movedPause<<min(a.pauses, 8))) {
			return false, excerpt.Error(context.Cause(ctx))
		}
		a.pauses++
	}
	a.asked = d.Map()
	return true, nil
}

// onItsWay tells of one of the jobs that is frozen in a partition; nil where none is.
func (d *Directory) onItsWay(ctx context.Context, ids []string) (*StrandedError, error) {
	var all []int
	for i := range d.Map().Len() {
		all = append(all, i)
	}
	answers, failed := Each(ctx, all, func(ctx context.Context, i int) (map[string]int, error) {
		return d.Guarded(i).OnItsWay(ctx, ids)
	}, nil)
	for i, targets := range answers {
		for _, target := range targets {
			return &StrandedError{Partition: all[i], Target: target}, nil
		}
	}
	return nil, excerpt.Join(failed...)
}
