package asynq

import (
	"context"
	"crypto/sha1" // the script compares messages by it; it protects nothing
	"encoding/hex"
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

// leaseGrace is how long after its lease has run out a task counts as lost: as long as asynq waits itself.
const leaseGrace = 30 * time.Second

// mostRunning is how many running tasks of a queue are looked at.
const mostRunning = 10_000

// Peek reads the tasks that would come next, behind the first ones.
func (s *Source) Peek(ctx context.Context, shelf ledger.Shelf, skip, most int) ([]migrate.Found, error) {
	ids, dues, err := s.ids(ctx, shelf, skip, most)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	calls := make([]redisconn.Call, len(ids))
	for i, id := range ids {
		calls[i] = redisconn.Call{Command: "HGET", Keys: []string{prefix(shelf.Queue) + "t:" + id}, Args: []any{"msg"}}
	}
	replies, err := s.driver.Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	found := make([]migrate.Found, len(ids))
	for i, id := range ids {
		f := &found[i]
		f.Job = ledger.Job{Kind: shelf.Kind, Queue: shelf.Queue, Key: shelf.Key, Member: id, Due: dues[i]}
		raw := ledger.One("HGET", replies[i].Value)
		switch {
		case replies[i].Err != nil:
			f.Err = replies[i].Err
		case replies[i].Value == nil:
			f.Err = fmt.Errorf("there is no task of that id")
		default:
			f.Job.Raw = raw.Bytes()
			f.Err = raw.Err()
		}
	}
	return found, s.locks(ctx, found)
}

// ids are those of the tasks that would come next, and when they are due.
func (s *Source) ids(ctx context.Context, shelf ledger.Shelf, skip, most int) (ids []string, dues []int64, err error) {
	call := redisconn.Call{Command: "ZRANGE", Keys: []string{shelf.Key}, Args: []any{skip, skip + most - 1,
		"WITHSCORES"}}
	switch shelf.Kind {
	case ledger.Queued: // the oldest is at the right
		call = redisconn.Call{Command: "LRANGE", Keys: []string{shelf.Key}, Args: []any{-skip - most, -skip - 1}}
	case ledger.Running:
		return s.lost(ctx, shelf, skip, most)
	default:
	}
	value, err := redisconn.Do(ctx, s.driver, call)
	if err != nil {
		return nil, nil, fmt.Errorf("%s cannot be read: %w", shelf.Key, err)
	}
	if shelf.Kind == ledger.Queued {
		ids, err = ledger.Texts(call.Command, value)
		slices.Reverse(ids)
		return ids, make([]int64, len(ids)), err
	}
	r := redisconn.Read(call.Command, value)
	for r.More() {
		ids = append(ids, r.Text())
		score, err := strconv.ParseFloat(r.Text(), 64)
		if err != nil {
			return nil, nil, fmt.Errorf("a score of %s cannot be read: %w", shelf.Key, err)
		}
		dues = append(dues, int64(score))
	}
	return ids, dues, r.Err()
}

// lost are tasks whose lease has run out.
func (s *Source) lost(ctx context.Context, shelf ledger.Shelf, skip, most int) (ids []string, dues []int64, err error) {
	before, err := s.leaseEnd(ctx)
	if err != nil {
		return nil, nil, err
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "ZRANGEBYSCORE",
		Keys: []string{prefix(shelf.Queue) + "lease"}, Args: []any{"-inf", before, "LIMIT", skip, min(most,
			mostRunning)}})
	if err != nil {
		return nil, nil, err
	}
	ids, err = ledger.Texts("ZRANGEBYSCORE", value)
	return ids, make([]int64, len(ids)), err
}

// leaseEnd is before when a lease must have run out, in s by the clock of that Redis.
func (s *Source) leaseEnd(ctx context.Context) (int64, error) {
	now, err := migrate.Clock(ctx, s.driver)
	return now.Add(-leaseGrace).Unix(), err
}

// locks looks which tasks hold a lock, and for how long.
func (s *Source) locks(ctx context.Context, found []migrate.Found) error {
	var calls []redisconn.Call
	var holders []*ledger.Job
	for i := range found {
		job := &found[i].Job
		m, err := decodeMessage(job.Raw)
		if err != nil || !strings.HasPrefix(m.UniqueKey, prefix(job.Queue)) {
			continue
		}
		job.Lock = m.UniqueKey
		holders = append(holders, job)
		calls = append(calls, redisconn.Call{Command: "GET", Keys: []string{job.Lock}},
			redisconn.Call{Command: "PTTL", Keys: []string{job.Lock}})
	}
	if len(calls) == 0 {
		return nil
	}
	replies, err := s.driver.Pipeline(ctx, calls...)
	if err != nil {
		return err
	}
	for i, job := range holders {
		owner, life := replies[2*i], replies[2*i+1]
		if owner.Err != nil || life.Err != nil || owner.Value == nil {
			continue
		}
		ms := ledger.One("PTTL", life.Value).Number()
		if ledger.One("GET", owner.Value).Text() == job.Member && ms > 0 {
			job.LockUntil = time.Now().UnixMilli() + ms
		}
	}
	return nil
}

// place is what the script calls the place of a kind.
func place(kind ledger.Kind) string {
	switch kind {
	case ledger.Queued:
		return "list"
	case ledger.Running:
		return "running"
	case ledger.Grouped:
		return "group"
	default:
		return "set"
	}
}

// Take takes tasks of one place into the batch.
func (s *Source) Take(ctx context.Context, shelf ledger.Shelf, t migrate.Taking) error {
	before, err := s.leaseEnd(ctx)
	if err != nil {
		return err
	}
	p, l := prefix(shelf.Queue), ledger.New(s.driver, shelf.Ledger)
	keys := []string{l.Head(), l.Batch(), shelf.Key, p + "lease", p + "groups"}
	now := time.Now()
	args := []any{place(shelf.Kind), now.UnixMicro(), t.Partition, now.UnixMilli(), before, shelf.Owner}
	for i := range t.Jobs {
		job := &t.Jobs[i]
		entry, err := json.Marshal(job)
		if err != nil {
			return err
		}
		sum := sha1.Sum(job.Raw) // see above
		keys = append(keys, p+"t:"+job.Member)
		args = append(args, job.Member, hex.EncodeToString(sum[:]), entry)
	}
	_, err = redisconn.Do(ctx, s.driver, redisconn.Call{Script: takeScript, Keys: keys, Args: args})
	return err
}

// Close ends a batch.
func (s *Source) Close(ctx context.Context, name string, b *ledger.Batch, back []int) (mine bool, err error) {
	keys, args := []string{ledger.New(s.driver, name).Batch()}, []any{strconv.FormatInt(b.Number, 10), 0}
	returned := map[int]bool{}
	for _, i := range back {
		returned[i] = true
	}
	locks := 0
	for i := range b.Jobs {
		if job := &b.Jobs[i]; job.Lock != "" && !returned[i] {
			keys, args = append(keys, job.Lock), append(args, job.Member)
			locks++
		}
	}
	args[1] = locks
	for _, i := range back {
		job := &b.Jobs[i]
		p, kind, key := prefix(job.Queue), job.Kind, job.Key
		if kind == ledger.Running { // its worker is gone
			kind, key = ledger.Queued, p+states[ledger.Queued]
		}
		group := ""
		if kind == ledger.Grouped {
			group = strings.TrimPrefix(key, p+"g:")
		}
		keys = append(keys, key, p+"t:"+job.Member, p+"groups")
		args = append(args, place(kind), job.Member, job.Due, job.Raw, states[kind], job.Lock, group)
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: closeScript, Keys: keys, Args: args})
	if err != nil {
		return false, err
	}
	r := ledger.One("migrate/asynq/close", value)
	return r.Number() == 1, r.Err()
}
