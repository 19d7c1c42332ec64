package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
)

// notMissed is how late a tick may be without having been missed: longer than it takes until another worker goes on
// for one that died. So a tick a second is not lost then either.
const notMissed = 10 * time.Second

// maxLookBack is from where on all ticks are gone through: more, and the next span would be too large for a Duration.
const maxLookBack = 30 * maxEvery

// MaxCounted is up to how many missed ticks are counted.
const MaxCounted = 1000

// Due is what a schedule has to do at a moment.
type Due struct {
	Last   time.Time   // up to which it moves on; zero when nothing is due
	Run    []time.Time // the ticks that get a job
	Missed int         // how many were missed, at most MaxCounted
	Since  time.Time   // the first of those
}

// Due judges the ticks after one moment and up to another. However long ago the first one was, it costs little.
func (s *Schedule) Due(after, now time.Time) Due {
	first := s.Table.Next(after)
	if first.IsZero() || first.After(now) {
		return Due{}
	}
	border := now.Add(-notMissed)
	if after.After(border) {
		border = after
	}
	d := Due{Run: s.Table.lastOf(after, now, 1)}
	d.Last = d.Run[0]
	d.Run = s.Table.lastOf(border, now, MaxMissed)
	if !first.After(border) {
		d.Since, d.Missed = first, s.Table.Count(first, border)
		d.Run = append(s.makeUp(after, border, len(d.Run) > 0), d.Run...)
	}
	if s.Definition.Overlap == OverlapSkip && len(d.Run) > 1 {
		d.Run = d.Run[len(d.Run)-1:] // the others would find it waiting
	}
	return d
}

// makeUp chooses which of the missed ticks get a job. One that is in time stands for them, where one should.
func (s *Schedule) makeUp(after, border time.Time, inTime bool) []time.Time {
	switch n := s.Definition.Missed; {
	case n > 0:
		return s.Table.lastOf(after, border, n)
	case n == MissedOnce && !inTime:
		return s.Table.lastOf(after, border, 1)
	}
	return nil
}

// lastOf returns the last n ticks after one moment and up to another. It looks back from the end, further and further:
// to go through all the seconds of a year would take minutes.
func (t *Table) lastOf(after, until time.Time, n int) []time.Time {
	for span := time.Duration(n+1) * time.Second; ; span *= 8 {
		from := until.Add(-span)
		all := span > maxLookBack || !from.After(after)
		if all {
			from = after
		}
		var ticks []time.Time
		for at := t.Next(from); !at.IsZero() && !at.After(until); at = t.Next(at) {
			ticks = append(ticks, at)
		}
		if len(ticks) >= n || all {
			return ticks[max(0, len(ticks)-n):]
		}
	}
}

// Count returns how many ticks there are from one on and up to a moment, at most MaxCounted.
func (t *Table) Count(first, until time.Time) int {
	n := 0
	for at := first; !at.IsZero() && !at.After(until) && n < MaxCounted; at = t.Next(at) {
		n++
	}
	return n
}

// Job is what a schedule enqueues.
type Job struct {
	ID         string
	Name       string
	Args       json.RawMessage
	Meta       map[string]string // which schedule and which tick it is of
	EnqueuedAt time.Time
	Due        time.Time // when it is to run, if that is later than EnqueuedAt
	Turn       rdb.Turn
	Needs      []string // labels, sorted
}

// TickJob is the job of one tick. Its id and its jitter come from the schedule and the tick, so that all workers find
// the same.
func (s *Schedule) TickJob(tick, now time.Time) Job {
	sum := sha256.Sum256([]byte(s.ID + "\x00" + strconv.FormatInt(tick.UnixMilli(), 10)))
	due := tick
	if s.Definition.Jitter > 0 {
		late := binary.BigEndian.Uint64(sum[16:24]) % uint64(s.Definition.Jitter)
		due = tick.Add(span.FromMillis(int64(min(late, math.MaxInt64))))
	}
	job := s.job(hex.EncodeToString(sum[:16]), now)
	job.Due = due
	job.Meta[metaTick] = tick.UTC().Format(time.RFC3339Nano)
	return job
}

// JobNow is a job of no tick, which somebody wants at once.
func (s *Schedule) JobNow(id string, now time.Time) Job { return s.job(id, now) }

// The keys in the meta of a job that a schedule has enqueued.
const (
	metaSchedule = "schedule"
	metaTick     = "tick"
)

func (s *Schedule) job(id string, now time.Time) Job {
	return Job{
		ID: id, Name: s.Definition.Name, Args: s.Definition.Args, EnqueuedAt: now, Turn: s.Turn(),
		Needs: s.Definition.Needs,
		Meta:  map[string]string{metaSchedule: s.ID},
	}
}

// Record is what is stored of a job that a schedule enqueues.
func (j Job) Record() []byte {
	r := record.Record{ID: j.ID, Name: j.Name, Args: j.Args, EnqueuedAt: j.EnqueuedAt.UnixMilli(), Meta: j.Meta}
	if j.Due.After(j.EnqueuedAt) {
		r.RunAt = j.Due.UnixMilli()
	}
	r.Key, r.Weight, r.Needs = j.Turn.Key, j.Turn.Weight, j.Needs
	return r.Append(nil)
}
