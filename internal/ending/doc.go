// Package ending ends jobs that no worker holds: as cancelled, wherever they wait, or as deleted. Calls of Cancel and
// Delete use it, and the janitor, who finishes what others have begun and trims the morgue. What a worker does about a
// job that it runs is not decided here.
package ending

import (
	"slices"
	"time"

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
	return b
}

// BelongingsIn is what a job has, as far as its record and its trail can be read.
func BelongingsIn(rawRecord, rawTrail []byte) rdb.Belongings {
	rec, _ := record.Decode(rawRecord) // of one that cannot be read nothing is known
	trail := record.DecodeTrail(rawTrail)
	return Belongings(&rec, &trail, "")
}

// Cancelled is how a job that rests ends as cancelled, at that time.
func Cancelled(rec *record.Record, rawTrail []byte, now time.Time) rdb.Ending {
	trail := record.DecodeTrail(rawTrail)
	return rdb.Ending{
		State: record.Cancelled, Keep: max(span.FromMillis(rec.Retention), Kept),
		Outcome:    record.Outcome{State: record.Cancelled, EndedAt: now.UnixMilli()}.Encode(),
		Belongings: Belongings(rec, &trail, ""),
	}
}
