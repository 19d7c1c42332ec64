package work

// nudge has the fetcher look up from what it waits for.
type nudge struct{ given chan struct{} }

func newNudge() *nudge { return &nudge{given: make(chan struct{}, 1)} }

// give wakes the fetcher, now or when it waits next.
func (n *nudge) give() {
	select {
	case n.given <- struct{}{}:
	default:
	}
}
