package people

import "time"

// How many passwords may be tried: five at once and then one in twelve seconds by one user at one address, and a
// hundred and one in a second by all.
const (
	triesAtOnce = 5
	triesEvery  = 12 * time.Second
	allAtOnce   = 100
	allEvery    = time.Second
	mostKept    = 10_000 // users at addresses; beyond that the oldest are forgotten
)

// tries bounds how often passwords are tried. Each holds when it is as if nothing had been tried.
type tries struct {
	all  time.Time
	each map[string]time.Time
}

func newTries() tries { return tries{each: map[string]time.Time{}} }

// take counts a try, or says how long it has to wait. One that must wait is not counted.
func (t *tries) take(who string, now time.Time) time.Duration {
	if len(t.each) >= mostKept {
		t.tidy(now)
	}
	mine, wait := next(t.each[who], now, triesAtOnce, triesEvery)
	all, longer := next(t.all, now, allAtOnce, allEvery)
	if wait = max(wait, longer); wait > 0 {
		return wait
	}
	t.each[who], t.all = mine, all
	return 0
}

// next is when a bucket is whole again that gives one more, or for how long there is none.
func next(whole, now time.Time, most int, every time.Duration) (time.Time, time.Duration) {
	if whole.Before(now) {
		whole = now
	}
	whole = whole.Add(every)
	return whole, whole.Sub(now) - time.Duration(most)*every
}

// forgive forgets the tries of who was right in the end.
func (t *tries) forgive(who string) { delete(t.each, who) }

// tidy forgets those of whom nothing is left, and all where that makes no room: the bound of all of them stays.
func (t *tries) tidy(now time.Time) {
	for who, whole := range t.each {
		if whole.Before(now) {
			delete(t.each, who)
		}
	}
	if len(t.each) >= mostKept {
		clear(t.each)
	}
}
