package intake

import "time"

// Where there are several partitions, a call that takes long does not count any more towards those that may be under
// way: its partition may hang, and the others do not. While there is one, all would only wait there in more lanes.

// uncount takes a call out of those that count; mu is held.
func (l *lanes) uncount(c *batchCall) {
	for i, other := range l.counted {
		if other == c {
			l.counted[i] = l.counted[len(l.counted)-1]
			l.counted[len(l.counted)-1] = nil
			l.counted = l.counted[:len(l.counted)-1]
			return
		}
	}
}

// watch looks after those who stand in line for any partition, once a call before them has taken long; mu is held.
func (l *lanes) watch(at *desk) {
	if at.site != nil || len(at.line) == 0 || l.current().Single() {
		return
	}
	if len(l.counted) == 0 {
		return // all partitions have as many calls as they may have: when one ends it goes on
	}
	wait := countsFor
	for _, c := range l.counted {
		wait = min(wait, countsFor-time.Since(c.began))
	}
	if l.aging == nil {
		l.aging = time.AfterFunc(max(0, wait), l.age)
		return
	}
	l.aging.Reset(max(0, wait))
}

// age stops counting the calls that have taken long, and makes others instead.
func (l *lanes) age() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed && l.callers == 0 || l.current().Single() {
		return
	}
	for i := len(l.counted) - 1; i >= 0; i-- {
		if c := l.counted[i]; time.Since(c.began) >= countsFor {
			c.slow = true
			c.lane.site.slow++
			l.uncount(c)
		}
	}
	for {
		c := l.gather(&l.anywhere)
		if c == nil {
			break
		}
		go l.serve(c)
	}
	l.watch(&l.anywhere)
}
