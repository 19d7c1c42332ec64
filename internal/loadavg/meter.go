// Package loadavg averages over 1, 5 and 15 minutes how many processors of a worker were busy, as a Unix system does
// with its run queue, and says how many hang. It decides nothing.
package loadavg

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Averages are those over the last 1, 5 and 15 minutes.
type Averages struct{ One, Five, Fifteen float64 }

// String is what [Parse] reads: with two decimals each, as in /proc/loadavg.
func (a Averages) String() string { return fmt.Sprintf("%.2f %.2f %.2f", a.One, a.Five, a.Fifteen) }

// Parse reads what String has written. What it cannot read is zero: nobody has told anything.
func Parse(text string) Averages {
	var a Averages
	if n, err := fmt.Sscanf(text, "%f %f %f", &a.One, &a.Five, &a.Fifteen); n != 3 || err != nil || !a.sane() {
		return Averages{}
	}
	return a
}

// ParseHung reads how many processors hang from what [Meter.News] has told. It is 0 for an older program, which does
// not tell.
func ParseHung(text string) int {
	fields := strings.Fields(text)
	if len(fields) < 4 {
		return 0
	}
	hung, err := strconv.Atoi(fields[3])
	if err != nil || hung < 0 {
		return 0
	}
	return hung
}

// AllHang reads how many processors a worker has, as it has told with that load, if all of them hang. It is 0 else.
func AllHang(load, concurrency string) int {
	most, err := strconv.Atoi(concurrency)
	if hung := ParseHung(load); err == nil && hung >= most {
		return hung
	}
	return 0
}

// sane tells whether JSON can hold them, and they can be what was averaged.
func (a Averages) sane() bool {
	for _, one := range []float64{a.One, a.Five, a.Fifteen} {
		if !(one >= 0 && one <= math.MaxInt32) {
			return false
		}
	}
	return true
}

// Meter averages what it is told. Its zero value has begun with nothing busy; its methods may be called concurrently.
type Meter struct {
	mu       sync.Mutex
	averages Averages
	sampled  time.Time // when, or that it has not begun
	told     Averages
	toldAt   time.Time

	hung, toldHung int
}

// Sample notes that so many processors are busy, as they are taken to have been since the last sample, and that so many
// hang. Each average a becomes a·d + busy·(1-d), where d is e to the power of -elapsed/period: a system with a fixed
// interval, such as Linux with its five seconds (kernel/sched/loadavg.c), has a constant for d. So an average that was
// 0 when something began reaches 63% of it after its period.
func (m *Meter) Sample(now time.Time, busy, hung int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if elapsed := now.Sub(m.sampled); !m.sampled.IsZero() && elapsed > 0 {
		damp(&m.averages.One, busy, elapsed, time.Minute)
		damp(&m.averages.Five, busy, elapsed, 5*time.Minute)
		damp(&m.averages.Fifteen, busy, elapsed, 15*time.Minute)
	}
	m.sampled, m.hung = now, hung
}

func damp(average *float64, busy int, elapsed, period time.Duration) {
	d := math.Exp(-float64(elapsed) / float64(period))
	*average = *average*d + float64(busy)*(1-d)
}

// tellEvery is how often they are told at the most.
const tellEvery = 5 * time.Second

// News returns the text for Redis: the averages, and the number of processors that hang behind them if some do. It is
// empty where Redis knows that text, or was told another just now; a change of that number does not wait. Callers that
// do not get it to Redis call [Meter.Untold].
func (m *Meter) News(now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := m.averages.String()
	if m.hung == m.toldHung &&
		(text == m.told.String() || !m.toldAt.IsZero() && now.Sub(m.toldAt) < tellEvery) {
		return ""
	}
	m.told, m.toldAt, m.toldHung = m.averages, now, m.hung
	if m.hung > 0 {
		text += " " + strconv.Itoa(m.hung)
	}
	return text
}

// Untold has the next news be told at once: an answer was lost, or Redis has forgotten what it knew.
func (m *Meter) Untold() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told, m.toldAt = Averages{One: -1}, time.Time{}
}
