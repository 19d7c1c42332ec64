// Package crash decides whether a job is to blame for the workers that died while it ran. It is handed what release.lua
// has written of it, and asks nobody.
package crash

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Record is what Redis knows of the workers that died with a job since its last attempt ended in good order.
// release.lua writes it, in words with spaces between.
type Record struct {
	counted []crash // deaths while it ran, the oldest first
	token   int64   // of the last claim of a worker that died, or was taken for dead
}

// crash is the death of a worker that ran a job.
type crash struct {
	worker  string
	died    int64                  // ms, by Redis' clock
	alone   int64                  // ms of this attempt; 0 where that is not known
	ran     float64                // the same, times how many jobs ran in that worker that are as suspicious
	deaths  [len(crashWindows)]int // of workers of the namespace in the time before, this one included
	workers int                    // that were left
}

// crashWindows are for how long before a crash the deaths of workers are counted, in ms.
var crashWindows = [...]float64{60e3, 600e3, 3600e3}

// Read reads what release.lua has written. A word of which it cannot make anything is a crash of which nothing
// else is known: earlier versions wrote only who had died.
func Read(text string) Record {
	var record Record
	for word := range strings.FieldsSeq(text) {
		switch word[0] {
		case '+': // when it began last
			continue
		case '?': // somebody died with it, and nobody knows whether it ran
			if at := strings.LastIndexByte(word, ':'); at > 0 {
				record.note(word[at+1:])
			}
			continue
		}
		at := strings.LastIndexByte(word, '@')
		if at < 0 {
			record.counted = append(record.counted, crash{worker: word, workers: 1})
			continue
		}
		c, facts := crash{worker: word[:at], workers: 1}, strings.Split(word[at+1:], ":")
		if len(facts) == 4+len(crashWindows) {
			c.died, _ = strconv.ParseInt(facts[0], 10, 64) // what is no number is 0, as if it were not known
			c.ran, _ = strconv.ParseFloat(facts[1], 64)
			_, alone, _ := strings.Cut(facts[1], ".") // earlier versions did not write it
			c.alone, _ = strconv.ParseInt(alone, 10, 64)
			for i := range c.deaths {
				c.deaths[i], _ = strconv.Atoi(facts[2+i])
			}
			n, _ := strconv.Atoi(facts[2+len(c.deaths)])
			c.workers = max(1, n)
			record.note(facts[len(facts)-1])
		}
		record.counted = append(record.counted, c)
	}
	return record
}

// note takes the token of a claim; the last one is the largest.
func (r *Record) note(token string) {
	n, _ := strconv.ParseInt(token, 10, 64)
	r.token = max(r.token, n)
}

// Count is how many workers died while the job ran.
func (r *Record) Count() int { return len(r.counted) }

// Workers are the ids of those that died while the job ran.
func (r *Record) Workers() []string {
	var ids []string
	for _, c := range r.counted {
		ids = append(ids, c.worker)
	}
	return ids
}

// Death is that of a worker which ran the job.
type Death struct {
	Worker  string
	At, Ran int64 // ms: when, and how long the job had run; 0 where it is not known
}

// Deaths are those of workers that died while the job ran, the oldest first.
func (r *Record) Deaths() []Death {
	deaths := make([]Death, len(r.counted))
	for i, c := range r.counted {
		deaths[i] = Death{Worker: c.worker, At: c.died, Ran: c.alone}
	}
	return deaths
}

// SuspectAfter is with how many deaths a job is watched, and DefaultMost after how many it may be buried.
const (
	SuspectAfter = 2
	DefaultMost  = 3
)

// MinWait and MaxWait are for how long a job that workers have died with waits while another one such runs.
const (
	MinWait = time.Second
	MaxWait = 30 * time.Second
)

const (
	// minChance is how unlikely it must be that a job met so many deaths by chance. A namespace may have millions of
	// jobs, and the few that have met two deaths are those that are looked at.
	minChance = 1e-8
	// maxChanceFactor times MaxCrashes is where nothing is put down to chance any more: whether or not the job is to
	// blame, it does not come to its end.
	maxChanceFactor = 4
)

// ShouldBury tells whether the job is to be buried: at least so many workers died while it ran, and chance does not
// explain it.
func (r *Record) ShouldBury(most int) bool {
	n := len(r.counted)
	return n >= most && (n >= maxChanceFactor*most || chanceOf(n, r.expected()) < minChance)
}

// expected is how many deaths the job should have met in the time that it ran, if it has nothing to do with them.
// Workers die as often as they did lately without it, by the window that shows the most; and in ten minutes one may
// always die of something that nobody has seen yet. A death in which one of several jobs may have had its hand says as
// much less of each.
func (r *Record) expected() float64 {
	sum := 0.0
	for i, c := range r.counted {
		rate := 0.0
		for w, window := range crashWindows {
			others := c.deaths[w]
			for _, own := range r.counted[:i+1] {
				if float64(c.died-own.died) <= window {
					others--
				}
			}
			unseen := 0
			if w == 1 {
				unseen = 1
			}
			rate = max(rate, float64(max(0, others)+unseen)/window)
		}
		sum += c.ran * rate / float64(c.workers)
	}
	return sum
}

// chanceOf is how likely n or more events are where so many are expected (Poisson).
func chanceOf(n int, expected float64) float64 {
	if expected <= 0 {
		return 0
	}
	exactly := func(n int) float64 {
		factorial, _ := math.Lgamma(float64(n) + 1)
		return math.Exp(float64(n)*math.Log(expected) - expected - factorial)
	}
	sum := 0.0
	if expected > float64(n) { // what is less likely is summed up: so little is not lost beside much
		for fewer := range n {
			sum += exactly(fewer)
		}
		return 1 - sum
	}
	for more, term := n, exactly(n); term > sum*1e-9; more++ {
		sum += term
		term *= expected / float64(more+1)
	}
	return sum
}

// TokenOf is the token of a claim that was made at that time.
func (r *Record) TokenOf(claimed int64) int64 { return max(claimed, r.token+1) }
