// Package ending ends jobs that no worker holds: as cancelled, wherever they wait, or as deleted. Calls of Cancel and
// Delete use it, and the janitor, who finishes what others have begun and trims the morgue. What a worker does about a
// job that it runs is not decided here.
package ending

import (
	"slices"
	"time"

	"github.com/265d0351/work/internal/ended"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
)

// Kept is how long it is remembered at least that a job has ended otherwise than by success: whoever waits for it must
// see that.
const Kept = time.Minute

// Belongings is what a job has in Redis beside its record and trail, but for the object that its outcome keeps; "" is
// none.
func Belongings(rec *record.Record, trail *record.Trail, object string) rdb.Belongings {
	b := rdb.Belongings{Lock: rec.Lock, Completion: rec.Completion, Log: trail.Log, State: trail.State}
	for _, sha := range rec.Objects {
		if sha != object && !slices.Contains(b.Objects, sha) {
			b.Objects = append(b.Objects, sha)
		}
	}
	b.Flow = Membership(rec)
	return b
}

// Membership is the part of a job in a flow, if it has one.
func Membership(rec *record.Record) (of rdb.Membership) {
	if member := rec.Member(); member != "" {
		of = rdb.Membership{Flow: rec.Flow, Member: member, Queues: rec.Next, Leaf: rec.Leaf}
	}
	return of
}

// BelongingsIn is what a job has, as far as its record and its trail can be read.
func BelongingsIn(rawRecord, rawTrail []byte) rdb.Belongings {
	rec, _ := record.Decode(rawRecord) // of one that cannot be read nothing is known
	trail := record.DecodeTrail(rawTrail)
	return Belongings(&rec, &trail, "")
}

// Resting is a job that no worker holds, as it was seen.
type Resting struct {
	Name          string
	Record, Trail []byte // as they are stored
	Now           time.Time
}

// Cancelled is how the job ends as cancelled.
func (r Resting) Cancelled() rdb.Ending {
	return r.leaving(rdb.Ending{State: record.Cancelled, Keep: Kept})
}

// Deleted is how the job ends as deleted, if its outcome is kept for that long at least: 0 keeps none.
func (r Resting) Deleted(keep time.Duration) rdb.Ending {
	return r.leaving(rdb.Ending{State: record.Deleted, Keep: keep})
}

// leaving completes how a job ends: what belongs to it, and what stays of it, as far as its record can be read. What
// its handler was registered with is not known here.
func (r Resting) leaving(e rdb.Ending) rdb.Ending {
	rec, _ := record.Decode(r.Record)
	trail := record.DecodeTrail(r.Trail)
	e.Belongings = Belongings(&rec, &trail, "")
	if rec.Shared != "" { // its queue has another name
		r.Name, e.Name = rec.Name, rec.Name
	}
	outcome := record.Outcome{State: e.State, EndedAt: r.Now.UnixMilli()}
	if retention := span.FromMillis(rec.Retention); retention > 0 {
		outcome.Name, e.Keep = r.Name, max(e.Keep, retention)
		e.Details = ended.Of(ended.Job{Record: r.Record, Trail: &trail, OmitArgs: rec.OmitArgs}).Encode()
	}
	e.Outcome = outcome.Encode()
	return e
}
