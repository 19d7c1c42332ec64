package work

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// notMissed is how late a tick may be without having been missed: longer than it takes until another worker goes on
// for one that died. So a tick a second is not lost then either.
const notMissed = 10 * time.Second

// maxLookBack is from where on all ticks are gone through: more, and the next span would be too large for a Duration.
const maxLookBack = 30 * maxEvery

// maxCounted is up to how many missed ticks are counted.
const maxCounted = 1000

// dueTicks is what a schedule has to do at a moment.
type dueTicks struct {
	last   time.Time   // up to which it moves on; zero when nothing is due
	run    []time.Time // the ticks that get a job
	missed int         // how many were missed, at most maxCounted
	since  time.Time   // the first of those
}

// due judges the ticks after one moment and up to another. However long ago the first one was, it costs little.
func (s *schedule) due(after, now time.Time) dueTicks {
	first := s.table.next(after)
	if first.IsZero() || first.After(now) {
		return dueTicks{}
	}
	border := now.Add(-notMissed)
	if after.After(border) {
		border = after
	}
	d := dueTicks{run: s.table.lastOf(after, now, 1)}
	d.last = d.run[0]
	d.run = s.table.lastOf(border, now, maxMissed)
	if !first.After(border) {
		d.since, d.missed = first, s.table.count(first, border)
		d.run = append(s.makeUp(after, border, len(d.run) > 0), d.run...)
	}
	if s.definition.Overlap == OverlapSkip && len(d.run) > 1 {
		d.run = d.run[len(d.run)-1:] // the others would find it waiting
	}
	return d
}

// makeUp chooses which of the missed ticks get a job. One that is in time stands for them, where one should.
func (s *schedule) makeUp(after, border time.Time, inTime bool) []time.Time {
	switch n := s.definition.Missed; {
	case n > 0:
		return s.table.lastOf(after, border, int(n))
	case n == MissedOnce && !inTime:
		return s.table.lastOf(after, border, 1)
	}
	return nil
}

// lastOf returns the last n ticks after one moment and up to another. It looks back from the end, further and further:
// to go through all the seconds of a year would take minutes.
func (t *timetable) lastOf(after, until time.Time, n int) []time.Time {
	for span := time.Duration(n+1) * time.Second; ; span *= 8 {
		from := until.Add(-span)
		all := span > maxLookBack || !from.After(after)
		if all {
			from = after
		}
		var ticks []time.Time
		for at := t.next(from); !at.IsZero() && !at.After(until); at = t.next(at) {
			ticks = append(ticks, at)
		}
		if len(ticks) >= n || all {
			return ticks[max(0, len(ticks)-n):]
		}
	}
}

// count returns how many ticks there are from one on and up to a moment, at most maxCounted.
func (t *timetable) count(first, until time.Time) int {
	n := 0
	for at := first; !at.IsZero() && !at.After(until) && n < maxCounted; at = t.next(at) {
		n++
	}
	return n
}

// tickJob is the job of one tick. Its id and its jitter come from the schedule and the tick, so that all workers find
// the same.
func (s *schedule) tickJob(tick, now time.Time) rdb.TickJob {
	sum := sha256.Sum256([]byte(s.id + "\x00" + strconv.FormatInt(tick.UnixMilli(), 10)))
	job := rdb.TickJob{ID: hex.EncodeToString(sum[:16]), Due: tick}
	if s.definition.Jitter > 0 {
		late := binary.BigEndian.Uint64(sum[16:24]) % uint64(s.definition.Jitter)
		job.Due = tick.Add(fromMillis(int64(min(late, math.MaxInt64))))
	}
	job.Record = s.record(job.ID, tick, job.Due, now)
	return job
}

// The keys in the meta of a job that a schedule has enqueued.
const (
	metaSchedule = "schedule"
	metaTick     = "tick"
)

// record is that of a job of this schedule. A zero tick is one by hand.
func (s *schedule) record(id string, tick, due, now time.Time) []byte {
	r := record{
		ID: id, Name: s.definition.Name, Args: s.definition.Args, EnqueuedAt: now.UnixMilli(),
		Meta: map[string]string{metaSchedule: s.id},
	}
	if !tick.IsZero() {
		r.Meta[metaTick] = tick.UTC().Format(time.RFC3339Nano)
	}
	if due.After(now) {
		r.RunAt = due.UnixMilli()
	}
	return r.encode(nil)
}
