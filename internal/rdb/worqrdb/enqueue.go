package worqrdb

import (
	"context"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var enqueueScript = redisconn.Load("worqr/enqueue")

// copiesReach is how far from the front copies of a unique task are counted: a hundred microseconds of Redis.
const copiesReach = 10_000

// Enqueued is one call of a lane. Calls of one lane are made one after the other, with growing numbers.
type Enqueued struct {
	Lane   string
	Number int64
	Life   time.Duration // how long the lane is remembered after the call
	Queue  string
	Tasks  [][]byte // at most MaxBatch
	Unique bool
}

// Enqueue stores tasks at the back of a queue. It tells for each whether it was put in; late says that the lane has
// gone on, so that nothing was done. Sent again with the same number it answers the same.
func (s *Store) Enqueue(ctx context.Context, e Enqueued) (put []bool, late bool, err error) {
	keys := []string{
		s.queue(e.Queue), s.knownQueues(), s.lane(e.Lane), s.uniqueWaiting(e.Queue), s.Channels(e.Queue).Work,
	}
	owner := ""
	args := make([]any, 5, 5+len(e.Tasks))
	if e.Unique {
		owner = e.Lane + "-" + strconv.FormatInt(e.Number, 10)
	}
	args[0], args[1], args[2], args[3], args[4] = e.Number, e.Life.Milliseconds(), e.Queue, owner, copiesReach
	for _, task := range e.Tasks {
		args = append(args, task)
		if e.Unique {
			keys = append(keys, s.uniqueTask(e.Queue, Digest(task)))
		}
	}
	reply, err := s.do(ctx, enqueueScript, keys, args...)
	if err != nil {
		return nil, false, err
	}
	r := redisconn.Read(enqueueScript.Name, reply)
	state, flags := r.Text(), r.Text()
	if r.Err() == nil && state == "late" {
		return nil, true, nil
	}
	if state != "stored" || len(flags) != len(e.Tasks) {
		r.Fail()
	}
	for _, flag := range flags {
		put = append(put, flag == '1')
	}
	return put, false, r.Err()
}
