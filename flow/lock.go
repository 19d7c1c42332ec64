package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// LockError says that somebody else has the lock that a member is to have, see [work.Unique]: so its flow was not
// stored, it was not added, or the flow was not retried.
type LockError struct {
	Flow   string // the id of the flow that the member is in
	Member string // its name
	Holder string // the id of the job that has the lock: it may be a member too, also of the same batch
}

func (e *LockError) Error() string {
	return excerpt.Cut(fmt.Sprintf("member %s of flow %s is unique, and job %s of the same kind lives: wait for its "+
		"end, or leave the member out", brief(e.Member), brief(e.Flow), brief(e.Holder)))
}

// locked is the error that an answer of a call about members stands for.
func locked(id string, members []string, detail string) error {
	at, holder, _ := strings.Cut(detail, " ")
	n, err := strconv.Atoi(at)
	if err != nil || n < 1 || n > len(members) {
		return fmt.Errorf("flow %s: a member meets a lock that job %s has", brief(id), brief(holder))
	}
	return &LockError{Flow: id, Member: members[n-1], Holder: holder}
}

func namesOf(members []flowdb.Member) []string {
	names := make([]string, len(members))
	for i := range members {
		names[i] = members[i].Name
	}
	return names
}

// checkLocks refuses a flow two of whose members have the same lock: one of them would keep the other out.
func checkLocks(all []parts) error {
	type place struct{ flow, member string }
	first := map[string]place{}
	for i := range all {
		for k := range all[i].members {
			m, id := &all[i].members[k], all[i].flow.ID()
			digest := m.Terms.Lock.Digest
			if digest == "" {
				continue
			}
			if other, taken := first[digest]; taken {
				return mistake("member "+brief(m.Name)+" of flow "+brief(id),
					"unique, and the same as member "+brief(other.member)+" of flow "+brief(other.flow),
					"give them other args, or another Key in their UniqueOptions, or leave Unique out of one")
			}
			first[digest] = place{id, m.Name}
		}
	}
	return nil
}

// withdraw removes what was stored of a flow that was refused, unless somebody else has sealed it meanwhile. Where that
// cannot be done the flow runs nothing, and goes like any that was cut off.
func (s *storing) withdraw(ctx context.Context) {
	flows := flowdb.Of(s.place.store)
	for range 5 { // one that was stored in this very ms is not removed yet
		gone := false
		err := answered(ctx, func(ctx context.Context) (err error) {
			gone, err = flows.Remove(ctx, s.keeping.ID, time.Millisecond)
			return err
		})
		if there, failed := flows.Exists(ctx, s.keeping.ID); gone || err != nil || failed != nil || !there ||
			!backoff.Pause(ctx, 2*time.Millisecond) {
			return
		}
	}
}

// lockTerms refuses what a member of a flow cannot be, of what makes jobs unique.
func lockTerms(entry *work.Entry) error {
	if u := entry.Settings().Unique; u != nil && u.OnConflict != work.KeepExisting {
		return mistake("job "+brief(entry.Name)+" of a flow", "given Unique with OnConflict",
			"leave OnConflict out: where another job of its kind lives the flow is refused")
	}
	return nil
}

// locksAreFree looks whether the members that would run once more find their locks free, also those of flows in the
// flow, before anything is changed.
func locksAreFree(ctx context.Context, store *rdb.Store, id string) error {
	flows := flowdb.Of(store)
	look := func(members []string) error {
		if _, err := namedStep(ctx, store, id, flowdb.ReopenCheck, members); err != nil {
			return err
		}
		inner, err := flows.InnerOf(ctx, id, members)
		for _, member := range inner {
			if err == nil {
				err = locksAreFree(ctx, store, id+"/"+member)
			}
		}
		if err != nil {
			return err
		}
		return eachLodged(ctx, store, id, members, func(there *rdb.Store, _ int, member string, _ flowdb.Epoch) error {
			return locksAreFree(ctx, there, member)
		})
	}
	for from := 0; ; from += rdb.MaxBatch {
		members, err := flows.Ends(ctx, id, from)
		if err != nil {
			return err
		}
		if len(members) == 0 {
			break
		}
		if err := look(members); err != nil {
			return err
		}
	}
	for cursor := "0"; ; { // those of a flow that never began
		next, members, err := flows.Left(ctx, id, cursor)
		if err != nil {
			return err
		}
		for page := range slices.Chunk(members, rdb.MaxBatch) {
			if err := look(page); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "0" {
			return nil
		}
	}
}

// namedStep is a step of opening a flow again that is about members, with what is known of them. The error is a
// *LockError where one of them meets a lock.
func namedStep(ctx context.Context, store *rdb.Store, id string, step flowdb.Reopening, members []string) (string,
	error) {
	named, err := flowdb.Of(store).SpecialOf(ctx, id, members)
	if err != nil {
		return "", err
	}
	state, err := flowdb.Of(store).Reopen(ctx, id, step, named)
	if detail, is := strings.CutPrefix(state, string(flowdb.Locked)+" "); is && err == nil {
		if len(members) == 1 && members[0] == flowdb.LodgedJob {
			id, members[0] = flowdb.OuterOf(id)
		}
		err = locked(id, members, detail)
	}
	return state, err
}

// asLockError is the error, if it says that a lock is held.
func asLockError(err error) *LockError {
	held := new(LockError)
	if errors.As(err, &held) {
		return held
	}
	return nil
}
