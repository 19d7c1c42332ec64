package outbox

import (
	"log/slog"
	"time"

	"github.com/265d0351/work/internal/excerpt"
)

// Event is what a relay tells: [Relayed], [Parked], [Trouble] or [TroubleOver].
type Event interface{ event() }

// Relayed says that a call was answered and its rows are done.
type Relayed struct {
	Stored     int           // jobs, that are in Redis or have been
	Duplicates int           // jobs that were dropped, since one of their id or kind lived
	Oldest     time.Duration // from the Enqueue of the first one to now, by the clocks of two machines
	Again      bool          // another relay, or an earlier attempt, may have sent the call before
}

// Parked says that a row was put aside, since it cannot be a job: see [Outbox.Retry].
type Parked struct{ Row ParkedRow }

// Trouble says that the relay cannot go on: the database or Redis fails. It is told when that begins, and the relay
// tries again, in growing intervals of at most a few seconds.
type Trouble struct{ Err error }

// TroubleOver says that the relay goes on after a Trouble.
type TroubleOver struct{ After time.Duration }

func (Relayed) event()     {}
func (Parked) event()      {}
func (Trouble) event()     {}
func (TroubleOver) event() {}

// tell tells the log of what a person should know, and the observer of everything.
func (r *Relay) tell(e Event) {
	switch e := e.(type) {
	case Parked:
		r.options.Logger.Error("a row of the outbox is parked: it cannot be a job", slog.Int64("row", e.Row.Row),
			slog.String("job", excerpt.Brief(e.Row.Name)), slog.String("id", e.Row.ID),
			slog.String("reason", e.Row.Reason))
	case Trouble:
		r.options.Logger.Warn("the relay of the outbox cannot go on, and tries again", slog.Any("error", e.Err))
	case TroubleOver:
		r.options.Logger.Info("the relay of the outbox goes on", slog.Duration("after", e.After))
	}
	if r.options.Observer != nil {
		r.options.Observer(e)
	}
}
