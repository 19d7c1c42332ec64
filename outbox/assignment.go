package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// assignment is which rows a call has, and in which partition each of them goes, as it stands in open_rows. It is
// committed before anything is sent, and kept until all is answered: whoever sends the call again sends the same to the
// same partitions, whatever the map says by then. Each of them knows the lane and the number by itself.
type assignment struct {
	Rows []int64 `json:"rows"`
	At   []int   `json:"at"`  // by row
	Map  int64   `json:"map"` // the version of the map by which that is so
}

// encode is how it stands in the table: as the rows alone, as older programs write and read it, where there are no
// partitions.
func (a assignment) encode() (string, error) {
	var text []byte
	var err error
	if a.Map == 0 {
		text, err = json.Marshal(a.Rows)
	} else {
		text, err = json.Marshal(a)
	}
	return string(text), err
}

// decodeAssignment reads what stands in the table.
func decodeAssignment(text string) (a assignment, err error) {
	if text == "" {
		return a, nil
	}
	if text[0] == '[' {
		err = json.Unmarshal([]byte(text), &a.Rows)
		return a, err
	}
	if err = json.Unmarshal([]byte(text), &a); err == nil && len(a.At) != len(a.Rows) {
		err = errors.New("it has not one partition for each row")
	}
	return a, err
}

// of is the partition of a row. Those of a call that was made before there were others are in the first one.
func (a assignment) of(row int64) int {
	for i, id := range a.Rows {
		if id == row && i < len(a.At) {
			return a.At[i]
		}
	}
	return 0
}

// home is the partition where a job goes by a map, and whether it may go now. The ids of an outbox were told when they
// were written, so what is bound by nothing else goes by its id.
func home(m *partition.Map, job *rdb.NewJob) (at int, now bool) {
	if m.Single() {
		return 0, true
	}
	if bound := bound(m, job); bound.Bound {
		return bound.Partition, !bound.Moving
	}
	if at = m.At(partition.BucketOfID(job.ID)); m.State(at) != partition.Open {
		at = m.Open()[0]
	}
	return at, true
}

// bound is the home of a job by what binds it.
func bound(m *partition.Map, job *rdb.NewJob) partition.Home {
	of := partition.Job{Name: job.Name(), Key: job.Turn.Key, Lock: job.Lock.Digest}
	if job.Chosen {
		of.Given = job.ID
	}
	return m.Home(of)
}

// assigned are the partitions of a call with the places of their jobs in it, in the order of the call.
func (c *call) assigned() (partitions []int, places map[int][]int) {
	places = map[int][]int{}
	for i, at := range c.at {
		if places[at] == nil {
			partitions = append(partitions, at)
		}
		places[at] = append(places[at], i)
	}
	return partitions, places
}

// sendTo sends the part of a call that one partition has, and notes the answer. Where that one knows a newer map it has
// none of it, and never will: the rows wait again.
func (r *Relay) sendTo(ctx context.Context, c *call, at int, places []int, a *answer) error {
	jobs, m := make([]rdb.NewJob, len(places)), r.parts.Map()
	for k, i := range places {
		jobs[k] = c.jobs[i]
		intake.Share(m, &jobs[k])
		jobs[k].Tracked = m.Tracking && bound(m, &jobs[k]).Bound
	}
	stored, err := r.storeOf(at).EnqueueIn(ctx, rdb.LaneCall{Lane: c.name(), Number: c.number, Map: c.version}, jobs)
	var newer *rdb.RouteError
	if errors.As(err, &newer) {
		_ = r.parts.RefreshFrom(ctx, at) // the next call asks again
		for _, i := range places {
			a.returned[i] = true
		}
		return nil
	}
	if c.torn && unclear(stored, err) {
		for _, i := range places {
			a.unclear[i] = true
		}
		return nil
	}
	if err != nil {
		if !m.Single() {
			err = fmt.Errorf("partition %d: %w", at, err)
		}
		return err
	}
	for k, problem := range stored.Problems {
		a.problems[places[k]] = problem
	}
	for k, hash := range stored.Missing {
		a.missing[places[k]] = hash
	}
	return nil
}

// unclear tells whether an answer depends on which of its places is whose job: one that is about more jobs than were
// sent, or says that some are in Redis neither by this call nor by another one.
func unclear(stored rdb.Enqueued, err error) bool {
	for _, problem := range stored.Problems {
		if problem != rdb.Duplicate && problem != rdb.Unique {
			return true
		}
	}
	var beyond *redisconn.UnexpectedReplyError
	return errors.As(err, &beyond)
}

// storeOf is the store of a partition.
func (r *Relay) storeOf(at int) *rdb.Store {
	if at == 0 {
		return r.store
	}
	return r.parts.Guarded(at)
}
