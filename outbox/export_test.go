package outbox

import "context"

// At lets a test do something at each step of the relay: "claimed", "sent", "finishing", "finished".
func (r *Relay) At(do func(step string)) { r.at = do }

// CallLife is after what time a call is not sent again.
var CallLife = callLife

// Heeded tells whether a relay that rested has heard the last Wake.
func (o *Outbox) Heeded() bool { return len(o.wake) == 0 }

// Round relays as Run does, once, and tells whether there is more to do and whether rows wait for a move.
func (r *Relay) Round(ctx context.Context) (more, holds bool, err error) {
	more, err = r.round(ctx)
	return more, r.held.some, err
}
