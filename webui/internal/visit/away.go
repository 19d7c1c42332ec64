package visit

import (
	"errors"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
)

// Away is that the Redis of a dashboard cannot be asked for now.
type Away struct {
	partly.Outage
	Since time.Time // from when on this dashboard has asked it in vain
}

// Away tells whether an error says that Redis cannot be asked for now, which nobody can help who looks at a page; nil
// where it says something else. Since when that is the site remembers until [Site.Reached], and the log is told once.
func (s *Site) Away(err error) *Away {
	var some *inspect.PartialError
	outage, is := partly.OutageIn(err)
	if !is || errors.As(err, &some) {
		return nil
	}
	now := time.Now()
	if s.away.CompareAndSwap(nil, &now) {
		s.Logger.Warn("dashboard: Redis cannot be reached", "place", s.Place, "error", err)
	}
	away := &Away{outage, now}
	if since := s.away.Load(); since != nil {
		away.Since = *since
	}
	return away
}

// Reached notes that Redis has answered.
func (s *Site) Reached() {
	if s.away.Load() == nil {
		return
	}
	if since := s.away.Swap(nil); since != nil {
		s.Logger.Info("dashboard: Redis can be reached again", "place", s.Place, "away", time.Since(*since))
	}
}
