package rdb

import (
	"context"
	"crypto/sha1" // it names a record that was read, and protects nothing
	"encoding/hex"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	editScript      = redisconn.Load("inspect/edit")
	beginScript     = redisconn.Load("job/begin")
	freeLocksScript = redisconn.Load("repair/free_locks")
	freeWaiting     = redisconn.Load("repair/free_waiting")
)

// Amendment changes a job that nobody holds. Read is its record as it was read, New the one that it gets. With Place
// [In] or [At] it is put off for or until When, which is in ms as in [NewJob]; with "" it is due when it was.
type Amendment struct {
	ID        string
	Read, New []byte
	Place     Place
	When      int64
}

// Amended says what became of an amendment.
type Amended string

// The answers to an amendment.
const (
	AmendDone  Amended = "amended" // the record reads so, and the job is not due earlier than asked
	AmendGone  Amended = "gone"    // there is no such job
	AmendHeld  Amended = "held"    // a worker has it
	AmendOther Amended = "other"   // its record is another one
	AmendSteps Amended = "steps"   // it has done steps: nothing was done
	AmendDue   Amended = "due"     // it was to be put off, and does not wait in scheduled: nothing was done
)

// Amend changes a job that nobody holds, if its record still is the one that was read. Sent again it answers the same.
func (s *Store) Amend(ctx context.Context, a Amendment) (Amended, error) {
	k := s.keys
	sum := sha1.Sum(a.Read)
	place := a.Place
	if place != In && place != At {
		place = "stay"
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{
		Script: editScript, Keys: []string{k.jobs, k.claimed, k.scheduled, k.steps(a.ID), k.mail(a.ID)},
		Args: []any{a.ID, hex.EncodeToString(sum[:]), a.New, string(place), a.When},
	})
	if err != nil {
		return "", err
	}
	switch answer := Amended(Word(value)); answer {
	case AmendDone, AmendGone, AmendHeld, AmendOther, AmendDue, AmendSteps:
		return answer, nil
	}
	return "", &redisconn.UnexpectedReplyError{Script: editScript.Name, Reply: value}
}

// Begin frees the lock of a job that is unique until it begins, if it has it. It returns false when the claim is gone,
// so that the job must not begin.
func (w *Worker) Begin(ctx context.Context, claim Claim, digest string) (bool, error) {
	value, err := redisconn.Do(ctx, w.store.driver, redisconn.Call{
		Script: beginScript, Keys: []string{w.store.keys.unique, w.keys.inprocess(claim.Queue)},
		Args: []any{claim.Element, digest},
	})
	if err != nil {
		return false, err
	}
	n, _ := value.(int64)
	return n == 1, nil
}

// FreeLocks removes locks that hold nothing any more. It reads a part of them, beginning at cursor ("" is the
// beginning), and returns where the next call begins: "" at the end of the walk.
func (s *Store) FreeLocks(ctx context.Context, cursor string) (next string, removed int, err error) {
	if cursor == "" {
		cursor = "0"
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HSCAN",
		Args: []any{s.keys.unique, cursor, "COUNT", MaxBatch}})
	if err != nil {
		return cursor, 0, err
	}
	next, page, _, err := parseFields("HSCAN", value)
	if err != nil {
		return cursor, 0, err
	}
	if next == "0" {
		next = ""
	}
	for len(page) > 0 {
		n := min(len(page), MaxBatch)
		gone, err := s.freeLocks(ctx, page[:n])
		if err != nil {
			return cursor, removed, err
		}
		if err := s.FreeWaiting(ctx, waitingLocks(page[:n])); err != nil {
			return cursor, removed, err
		}
		removed += gone
		page = page[n:]
	}
	return next, removed, nil
}

// freeLocks gives the script digests that may hold nothing any more; the script looks again at each.
func (s *Store) freeLocks(ctx context.Context, page []Field) (int, error) {
	digests := make([]any, len(page))
	for i, field := range page {
		digests[i] = field.Name
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: freeLocksScript,
		Keys: []string{s.keys.unique, s.keys.jobs, s.keys.foreign}, Args: digests})
	if err != nil {
		return 0, err
	}
	n, _ := value.(int64)
	return int(n), nil
}

// WaitingLock is the lock of a member that waits with its flow, or did so.
type WaitingLock struct{ Digest, Flow, Member string }

// waitsWithFlow is how such a lock ends: no time is over, and no job need be there.
const waitsWithFlow = " 0 t"

func waitingLocks(page []Field) (locks []WaitingLock) {
	for _, field := range page {
		owner, waits := strings.CutSuffix(string(field.Value), waitsWithFlow)
		if at := strings.LastIndexByte(owner, '/'); waits && at > 0 {
			locks = append(locks, WaitingLock{Digest: field.Name, Flow: owner[:at], Member: owner[at+1:]})
		}
	}
	return locks
}

// FreeWaiting frees those of the locks whose members do not wait any more: their flow is being removed, has ended or is
// gone, or they have ended.
func (s *Store) FreeWaiting(ctx context.Context, locks []WaitingLock) error {
	for page := range slices.Chunk(locks, MaxBatch) {
		keys, args, places := []string{s.keys.unique}, []any(nil), map[string]int{}
		for _, lock := range page {
			if places[lock.Flow] == 0 {
				places[lock.Flow] = len(places) + 1
				own := s.keys.flow(lock.Flow)
				keys = append(keys, own[0], own[3])
			}
			args = append(args, lock.Digest, places[lock.Flow], lock.Flow, lock.Member)
		}
		call := redisconn.Call{Script: freeWaiting, Keys: keys, Args: args}
		if _, err := redisconn.Do(ctx, s.driver, call); err != nil {
			return err
		}
	}
	return nil
}
