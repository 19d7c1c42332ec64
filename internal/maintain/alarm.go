package maintain

import "time"

// alarm is a timer that can be set earlier but not later, so that old news cannot undo newer ones.
type alarm struct {
	timer *time.Timer
	at    time.Time // zero while it is not set
}

func newAlarm() *alarm {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &alarm{timer: timer}
}

// atMost makes the alarm ring after d, unless it rings before.
func (a *alarm) atMost(d time.Duration) {
	at := time.Now().Add(d)
	if !a.at.IsZero() && !at.Before(a.at) {
		return
	}
	a.at = at
	a.timer.Reset(max(0, d))
}

func (a *alarm) rang() { a.at = time.Time{} }
func (a *alarm) stop() { a.timer.Stop() }
