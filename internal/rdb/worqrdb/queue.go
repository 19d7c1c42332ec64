package worqrdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	cancelScript = redisconn.Load("worqr/cancel")
	deleteScript = redisconn.Load("worqr/delete")
)

// Cancel removes the waiting copies of a task, and marks those that are worked on, for keep. It answers how many it
// removed.
func (s *Store) Cancel(ctx context.Context, queue string, task []byte, keep time.Duration) (int, error) {
	digest := Digest(task)
	return number(cancelScript)(s.do(ctx, cancelScript, []string{
		s.queue(queue), s.uniqueWaiting(queue), s.uniqueTask(queue, digest), s.cancelledTasks(queue), s.sequence(),
		s.Channels(queue).Cancel,
	}, task, digest, keep.Milliseconds()))
}

// Delete removes a queue and the locks of the tasks that wait in it, which have these digests. locked says that there
// are others, and that the queue is still there. It answers how many tasks went with it.
func (s *Store) Delete(ctx context.Context, queue string, digests []string) (count int, locked bool, err error) {
	keys := []string{s.queue(queue), s.uniqueWaiting(queue), s.knownQueues(), s.Channels(queue).Delete}
	args := []any{queue}
	for _, digest := range digests {
		keys = append(keys, s.uniqueTask(queue, digest))
		args = append(args, digest)
	}
	reply, err := s.do(ctx, deleteScript, keys, args...)
	if err != nil {
		return 0, false, err
	}
	r := redisconn.Read(deleteScript.Name, reply)
	if r.Text() == "locked" {
		return 0, true, r.Err()
	}
	n := r.Number()
	return int(n), false, r.Err()
}

// Locks are some digests of unique tasks that wait in a queue, at most MaxBatch of them.
func (s *Store) Locks(ctx context.Context, queue string) ([]string, error) {
	reply, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "HSCAN", Args: []any{s.uniqueWaiting(queue), 0, "COUNT", MaxBatch}})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("HSCAN", reply)
	r.Next() // the cursor: what is named is deleted, so the next look begins anew
	pairs := r.Texts()
	var digests []string
	for i := 0; i < len(pairs) && len(digests) < MaxBatch; i += 2 {
		digests = append(digests, pairs[i])
	}
	return digests, r.Err()
}

// Queues are the names in the registry, in no order.
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	return s.members(ctx, s.knownQueues())
}

// Count is how many tasks wait.
func (s *Store) Count(ctx context.Context, queue string) (int, error) {
	reply, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "LLEN", Args: []any{s.queue(queue)}})
	if err != nil {
		return 0, err
	}
	r := redisconn.Read("LLEN", []any{reply})
	n := r.Number()
	return int(n), r.Err()
}

// TellWork tells who listens to a queue that so many tasks wait.
func (s *Store) TellWork(ctx context.Context, queue string, count int) error {
	_, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "PUBLISH", Args: []any{s.Channels(queue).Work, count}})
	return err
}

// Tasks are up to limit tasks that wait, from the front, without the first so many.
func (s *Store) Tasks(ctx context.Context, queue string, from, limit int) ([][]byte, error) {
	reply, err := redisconn.Do(ctx, s.driver, redisconn.Call{
		Command: "LRANGE", Args: []any{s.queue(queue), -from - limit, -from - 1},
	})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("LRANGE", reply)
	var tasks [][]byte
	for r.More() {
		tasks = append([][]byte{r.Bytes()}, tasks...)
	}
	return tasks, r.Err()
}

func (s *Store) members(ctx context.Context, key string) ([]string, error) {
	reply, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SMEMBERS", Args: []any{key}})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("SMEMBERS", []any{reply})
	names := r.Texts()
	return names, r.Err()
}
