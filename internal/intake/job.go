package intake

import (
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// objectBytes is what a reference to an object counts for in the size of a call, so that one call checks about 500 of
// them at the most.
const objectBytes = 2 << 10

// Job is a job to be stored.
type Job struct {
	rdb.NewJob

	Replicas int           // how many replicas should have it before it is told of; 0 waits for none
	Wait     time.Duration // how long that may take, from when it was stored

	// Contents are the objects that the enqueue brings along, by hash: they are stored before it. nil for nearly all.
	Contents map[string][]byte
	// Request says that its lock is that of a request, for jobs of all names.
	Request bool
	// Conflict says what happens where another job of its kind lives. nil for nearly all, and for those without a lock.
	Conflict *Conflict
}

// bytes is about how much of a call the job takes.
func (j *Job) bytes() int {
	return len(j.Record) + len(j.ID) + len(j.Queue) + objectBytes*len(j.Objects)
}

// Unholdable is what is wrong with a job that has the lock of a request while its name is limited, or it has a key: the
// lock lives in one partition, for all names and keys, and what has the limit or the key in another. It is nil where
// there is nothing wrong, and an *invalid.Error otherwise.
func Unholdable(m *partition.Map, job *Job) error {
	refuse := func(value, remedy string) error {
		return &invalid.Error{What: "job " + excerpt.Brief(job.Name()), Value: value, Remedy: remedy}
	}
	switch {
	case m.Single() || !job.Request:
		return nil
	case m.Limited(job.Name()):
		return refuse("given Once, while its name is limited and the namespace has several partitions",
			"give it a Key or an ID of its own instead (Unique, ID), or enqueue a job without a limit that enqueues it")
	case job.Turn.Key != "":
		return refuse("given Once beside Key "+excerpt.Quoted(job.Turn.Key)+
			", while the namespace has several partitions, and each key is in one of them",
			"give it Unique with a Key or For instead, which is about the jobs of its key, or an ID")
	}
	return nil
}

// Conflict says what happens to a job that comes while another one of its kind lives. The zero value keeps the other
// one, and it is a duplicate.
type Conflict struct {
	Refuse bool   // it is an error
	Change Change // the other one is changed; nil leaves it as it is
}

// Change is how a job that lives is changed by one that comes.
type Change interface {
	// Amendment is the change of the job with that id, whose record was read.
	Amendment(id string, read []byte) (rdb.Amendment, error)
	// Apply is the record that was read with all of the change but the time: for a job that is due already.
	Apply(read []byte) ([]byte, error)
}

// Outcome is what became of a job.
type Outcome int

// The outcomes of an enqueue.
const (
	Unknown   Outcome = iota // an attempt was not answered, and may be executed, or may have been
	Stored                   // or it is a duplicate
	NotStored                // and will not be
)

// Result is what became of one job.
type Result struct {
	Outcome   Outcome
	At        time.Time // by the clock of Redis, when it was stored just now
	Duplicate bool      // Owner lives, so it need not be stored; or, when it is not stored, must not be
	Owner     string    // id of the job that lives: of that id or of that kind
	Held      bool      // Owner was to be changed, and a worker has it
	Confirmed int       // how many replicas have it, when it was stored just now and wanted some
	Few       error     // what was in the way of asking more of them; nil where there was nothing
	Partition int       // in which it was stored, where Confirmed is told and there are several; else 0
	Divided   bool      // there are several
	Err       error     // why it is not stored, or why that is not known; nil for a duplicate that is refused
}
