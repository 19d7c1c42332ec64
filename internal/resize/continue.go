package resize

import (
	"context"
	"errors"
	"time"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// Continue goes on with a change of the number of partitions that somebody has begun and does not go on with, as far as
// it can be done now: whoever does the maintenance calls it again. Left alone it would leave partitions that get no
// jobs, or lists that grow with each job that is stored. It decides nothing itself: where another number is wanted
// meanwhile, or nothing more, it does nothing, and where a mover is at work it leaves that one alone.
func Continue(ctx context.Context, directory *partition.Directory) error {
	n := directory.Map().Wanted
	if n == 0 {
		return nil
	}
	r := &resizing{directory: directory, n: n, continues: true, lead: tryMover, progress: Progress{Wanted: n}}
	_, err := r.pass(ctx, false)
	var superseded *SupersededError
	if errors.As(err, &superseded) || errors.Is(err, rdb.ErrLed) {
		return nil
	}
	return err
}

// Stalled goes on with a change of the number of partitions where its map has stayed the same for long: as a rule
// somebody works on it, and that is seen. One goroutine may use it.
type Stalled struct {
	After time.Duration // that the map has stayed the same

	last  *partition.Map
	since time.Time // it is known, or was gone on with
	err   error
}

// GoOn is called now and then. Its error is what keeps the change from going on, as of the last try.
func (s *Stalled) GoOn(ctx context.Context, directory *partition.Directory) error {
	switch m := directory.Map(); {
	case m != s.last:
		s.last, s.since, s.err = m, time.Now(), nil
	case m.Wanted != 0 && time.Since(s.since) > s.After:
		s.err = Continue(ctx, directory)
		s.since = time.Now()
	}
	return s.err
}
