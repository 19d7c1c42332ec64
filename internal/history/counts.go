package history

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Counts are the sums of one name in some time.
type Counts struct {
	Done, Failed, Dead int64
	TimedOut           int64 // of those that failed or died
	Run, Waited        Durations
	Gap                time.Duration // for which jobs that failed were put off
}

func (c *Counts) count(a *Attempt, ahead time.Duration) {
	switch a.Result {
	case Done:
		c.Done++
	case Failed:
		c.Failed++
	case Dead:
		c.Dead++
	}
	if a.TimedOut {
		c.TimedOut++
	}
	c.Gap = addDurations(c.Gap, a.Gap)
	if a.Begun.IsZero() {
		return
	}
	c.Run.Add(a.Took)
	if !a.Due.IsZero() {
		c.Waited.Add(a.Begun.Add(ahead).Sub(a.Due))
	}
}

// The letters of what is counted, as they are stored: "d:12 f:1 r:48211 r0:12 r3:1 w:900 w0:13". A letter alone is a
// sum in microseconds, one with a number a bucket.
const (
	letterDone   = 'd'
	letterFailed = 'f'
	letterDead   = 'm'
	letterTimes  = 't'
	letterRun    = 'r'
	letterWaited = 'w'
	letterGap    = 'g'
)

// Parse reads what is stored. What this version does not know is left out.
func Parse(stored string) (c Counts) {
	for field := range strings.SplitSeq(stored, " ") {
		key, digits, found := strings.Cut(field, ":")
		n, err := strconv.ParseInt(digits, 10, 64)
		if !found || key == "" || err != nil || n < 0 {
			continue
		}
		switch letter := key[0]; {
		case letter == letterRun:
			c.Run.addStored(key[1:], n)
		case letter == letterWaited:
			c.Waited.addStored(key[1:], n)
		case len(key) > 1:
		case letter == letterDone:
			c.Done += n
		case letter == letterFailed:
			c.Failed += n
		case letter == letterDead:
			c.Dead += n
		case letter == letterTimes:
			c.TimedOut += n
		case letter == letterGap:
			c.Gap = addDurations(c.Gap, time.Duration(min(n, math.MaxInt64/1000))*time.Microsecond)
		}
	}
	return c
}

// Take returns what was counted in the form in which it is stored, and begins anew. What of a sum is less than a
// microsecond stays.
func (c *Counts) Take() string {
	b := make([]byte, 0, 64)
	b = appendCount(b, letterDone, c.Done)
	b = appendCount(b, letterFailed, c.Failed)
	b = appendCount(b, letterDead, c.Dead)
	b = appendCount(b, letterTimes, c.TimedOut)
	b = appendCount(b, letterGap, c.Gap.Microseconds())
	run, waited, gap := c.Run.Sum, c.Waited.Sum, c.Gap
	b = c.Run.appendStored(b, letterRun)
	b = c.Waited.appendStored(b, letterWaited)
	*c = Counts{}
	c.Run.Sum, c.Waited.Sum, c.Gap = run%time.Microsecond, waited%time.Microsecond, gap%time.Microsecond
	return string(b)
}

func (d *Durations) addStored(bucket string, n int64) {
	if bucket == "" {
		d.Sum = addDurations(d.Sum, time.Duration(min(n, math.MaxInt64/1000))*time.Microsecond)
		return
	}
	if i, err := strconv.Atoi(bucket); err == nil && i >= 0 && i < Buckets {
		d.Counts[i] += n
	}
}

func (d *Durations) appendStored(b []byte, letter byte) []byte {
	b = appendCount(b, letter, d.Sum.Microseconds())
	for i, n := range d.Counts {
		if n > 0 {
			b = appendKey(b, letter)
			b = append(strconv.AppendInt(b, int64(i), 10), ':')
			b = strconv.AppendInt(b, n, 10)
		}
	}
	return b
}

func appendCount(b []byte, letter byte, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(appendKey(b, letter), ':'), n, 10)
}

func appendKey(b []byte, letter byte) []byte {
	if len(b) > 0 {
		b = append(b, ' ')
	}
	return append(b, letter)
}
