package maintain

import "time"

// dueClock knows between which bounds the clock of Redis is ahead of ours, so that what is due can be asked for in the
// very millisecond. Redis tells whole milliseconds, cut off; each reply was made between the sending of its call and
// its arrival, which bounds the difference from both sides, and the bounds of some replies together are closer than
// those of any. The zero value knows nothing.
type dueClock struct {
	began     time.Time // of ours, before the first reply; zero until then
	low, high time.Duration
	learnt    time.Duration // when these were the bounds, since began
}

// drift is how much two clocks may part per second. What is known grows vaguer by that.
const drift = 50e-6

// learn takes what a reply shows to a call that was under way from sent to received.
func (c *dueClock) learn(redis, sent, received time.Time) {
	first := c.began.IsZero()
	if first {
		c.began = sent
	}
	low, high := redis.Sub(received), redis.Add(time.Millisecond).Sub(sent)
	vague := time.Duration(float64(received.Sub(c.began)-c.learnt) * drift)
	c.learnt = received.Sub(c.began)
	c.low, c.high = c.low-vague, c.high+vague
	if first || low > c.high || high < c.low { // a clock was set in between
		c.low, c.high = low, high
	}
	c.low, c.high = max(c.low, low), min(c.high, high)
}

// until is how long it lasts, at now, until the clock of Redis shows that time for sure.
func (c *dueClock) until(due, now time.Time) time.Duration {
	vague := time.Duration(float64(now.Sub(c.began)-c.learnt) * drift)
	return max(0, due.Sub(now)-c.low+vague)
}
