package gocraft

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/internal/redisconn"
)

const (
	// silence is after what time without a heartbeat a pool counts as gone. The library itself takes 10 s.
	silence = 30 * time.Second
	// lockLife is how long a lock of a unique job lasts in gocraft/work.
	lockLife = 24 * time.Hour
)

// Peek reads the jobs that would come next, behind the first ones.
func (s *Source) Peek(ctx context.Context, shelf ledger.Shelf, skip, most int) ([]migrate.Found, error) {
	if shelf.Kind == ledger.Running {
		if alive, err := s.alive(ctx, shelf.Owner); err != nil || alive {
			return nil, err
		}
	}
	call := redisconn.Call{Command: "ZRANGE", Keys: []string{shelf.Key}, Args: []any{skip, skip + most - 1,
		"WITHSCORES"}}
	if listed(shelf.Kind) { // the oldest is at the right
		call = redisconn.Call{Command: "LRANGE", Keys: []string{shelf.Key}, Args: []any{-skip - most, -skip - 1}}
	}
	value, err := redisconn.Do(ctx, s.driver, call)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", shelf.Key, err)
	}
	r := redisconn.Read(call.Command, value)
	var found []migrate.Found
	for r.More() {
		raw, due := r.Text(), int64(0)
		if !listed(shelf.Kind) {
			due = r.Number()
		}
		found = append(found, s.found(shelf, raw, due))
	}
	if listed(shelf.Kind) {
		slices.Reverse(found)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return found, s.locks(ctx, found)
}

func (s *Source) found(shelf ledger.Shelf, raw string, due int64) migrate.Found {
	r, _, err := decode([]byte(raw))
	f := migrate.Found{Err: err, Job: ledger.Job{Kind: shelf.Kind, Queue: shelf.Queue, Key: shelf.Key, Member: r.ID,
		Raw: []byte(raw), Due: due}}
	// Where it began once its lock was freed, and is somebody else's by now: see ours about those whose pool is gone.
	begun := shelf.Kind == ledger.Retrying || shelf.Kind == ledger.Dead
	if !begun && r.Unique && strings.HasPrefix(r.UniqueKey, s.prefix+"unique:") {
		f.Job.Lock = r.UniqueKey
	}
	return f
}

// locks looks how long the locks last, and what is in them: the args of the job may be there.
func (s *Source) locks(ctx context.Context, found []migrate.Found) error {
	var calls []redisconn.Call
	var holders []*ledger.Job
	for i := range found {
		if job := &found[i].Job; job.Lock != "" {
			holders = append(holders, job)
			calls = append(calls, redisconn.Call{Command: "PTTL", Keys: []string{job.Lock}},
				redisconn.Call{Command: "GET", Keys: []string{job.Lock}})
		}
	}
	if len(calls) == 0 {
		return nil
	}
	replies, err := s.driver.Pipeline(ctx, calls...)
	if err != nil {
		return err
	}
	for i, job := range holders {
		value := ledger.One("GET", replies[2*i+1].Value).Bytes()
		if job.Kind == ledger.Running && !ours(job, value) {
			job.Lock = ""
			continue
		}
		if ms := ledger.One("PTTL", replies[2*i].Value).Number(); ms > 0 {
			job.LockUntil, job.Value = time.Now().UnixMilli()+ms, value
		}
	}
	return nil
}

// ours tells whether a lock may be that of a job whose pool is gone. A pool frees it once it has taken the job, so
// most often the lock is another one's that waits; but a pool that died in between has left it, and then nobody could
// enqueue such a job for a day. A lock that says nothing is freed: at worst two of a kind wait. One that names another
// job is left, since its args are those with which that one is to run.
func ours(job *ledger.Job, value []byte) bool {
	if string(value) == "1" {
		return true
	}
	holder, _, err := decode(value)
	return err == nil && holder.ID == job.Member
}

// alive tells whether the pool has beaten of late.
func (s *Source) alive(ctx context.Context, pool string) (bool, error) {
	before, err := s.deadline(ctx)
	if err != nil {
		return false, err
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HGET",
		Keys: []string{s.heartbeat(pool)}, Args: []any{"heartbeat_at"}})
	if err != nil {
		return false, err
	}
	r := ledger.One("HGET", value)
	return value != nil && r.Number() > before, r.Err()
}

func (s *Source) heartbeat(pool string) string { return s.prefix + "worker_pools:" + pool }

// deadline is before when a pool must have beaten last, in s by the clock of that Redis.
func (s *Source) deadline(ctx context.Context) (int64, error) {
	now, err := migrate.Clock(ctx, s.driver)
	return now.Add(-silence).Unix(), err
}

// place is what the scripts call the place of a kind.
func place(kind ledger.Kind) string {
	switch kind {
	case ledger.Running:
		return "running"
	case ledger.Queued:
		return "list"
	default:
		return "set"
	}
}

// Take takes jobs of one place into the batch.
func (s *Source) Take(ctx context.Context, shelf ledger.Shelf, t migrate.Taking) error {
	before, err := s.deadline(ctx)
	if err != nil {
		return err
	}
	l, now := ledger.New(s.driver, shelf.Ledger), time.Now()
	keys := []string{l.Head(), l.Batch(), shelf.Key, s.queue(shelf.Queue) + ":lock",
		s.queue(shelf.Queue) + ":lock_info",
		s.heartbeat(shelf.Owner)}
	args := []any{place(shelf.Kind), now.UnixMicro(), t.Partition, now.UnixMilli(), before, shelf.Owner}
	for i := range t.Jobs {
		job := &t.Jobs[i]
		entry, err := json.Marshal(job)
		if err != nil {
			return err
		}
		lock := job.Lock
		if lock == "" {
			lock = l.Head() // none
		}
		keys, args = append(keys, lock), append(args, job.Raw, entry)
	}
	_, err = redisconn.Do(ctx, s.driver, redisconn.Call{Script: takeScript, Keys: keys, Args: args})
	return err
}

// Close ends a batch.
func (s *Source) Close(ctx context.Context, name string, b *ledger.Batch, back []int) (mine bool, err error) {
	batch := ledger.New(s.driver, name).Batch()
	keys, args := []string{batch}, []any{strconv.FormatInt(b.Number, 10)}
	for _, i := range back {
		job := &b.Jobs[i]
		kind, key, lock := job.Kind, job.Key, batch
		if kind == ledger.Running { // its pool is gone
			kind, key = ledger.Queued, s.queue(job.Queue)
		}
		if len(job.Value) > 0 {
			lock = job.Lock
		}
		keys = append(keys, key, lock)
		args = append(args, place(kind), job.Raw, job.Due, job.Value, int(lockLife/time.Second))
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: closeScript, Keys: keys, Args: args})
	if err != nil {
		return false, err
	}
	r := ledger.One("migrate/gocraft/close", value)
	return r.Number() == 1, r.Err()
}
