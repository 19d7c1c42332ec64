package rdb

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	removeExpiredScript = redisconn.Load("repair/remove_expired")
	dropOutcomeScript   = redisconn.Load("result/drop_outcome")
)

// EndedShelf is where jobs of a name stand that have ended in a state, in the words of an [Ending].
type EndedShelf struct{ State, Name string }

// shelfIn is the shelf that the beginning of an outcome names. Scripts are given its keys; one that cannot be read
// names a shelf that nothing was ever put on.
func shelfIn(beginning string) (of EndedShelf) {
	_ = json.Unmarshal([]byte(beginning+"}"), &of)
	return of
}

// beginningOf is the part of an outcome that names a shelf; "" where it names none.
func beginningOf(outcome []byte) string {
	text := string(outcome)
	if at := strings.Index(text, `,"ended":`); at > 0 && strings.Contains(text[:at], `,"name":`) {
		return text[:at]
	}
	return ""
}

// maxExpiredBytes is how much of outcomes one call looks at: those with results may be large.
const maxExpiredBytes = 4 << 20

// Expired is what came of a look for outcomes that are not to be kept any longer.
type Expired struct {
	Removed int
	More    bool     // there may be more
	Unknown []string // how outcomes begin that were left, since nobody said where the details of their jobs are
}

// RemoveExpiredOutcomes removes outcomes whose retention has passed, at most [MaxBatch], with the details of their
// jobs. Those of jobs with details are removed where it is told how they begin, as an earlier call has answered.
func (s *Store) RemoveExpiredOutcomes(ctx context.Context, beginnings []string) (Expired, error) {
	k := s.keys
	keys, args := []string{k.outcomes, k.outcomesUntil}, []any{MaxBatch, maxExpiredBytes}
	for _, beginning := range beginnings {
		of := shelfIn(beginning)
		ids, details := k.ended(of.State, of.Name)
		keys = append(keys, ids, details)
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: removeExpiredScript, Keys: keys,
		Args: appendTexts(args, beginnings)})
	if err != nil {
		return Expired{}, err
	}
	r := redisconn.Read("repair/remove_expired", value)
	expired := Expired{Removed: int(r.Number()), More: r.Number() == 1, Unknown: someTexts(r)}
	return expired, r.Err()
}

// dropTries is how often an outcome is read again that another one has replaced meanwhile.
const dropTries = 5

// DropOutcome removes what is kept of a job that has ended, its outcome and its details, and tells whether there was
// anything.
func (s *Store) DropOutcome(ctx context.Context, id string) (bool, error) {
	k := s.keys
	for range dropTries {
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "HGET", Args: []any{k.outcomes, id}})
		if err != nil || value == nil {
			return false, err
		}
		beginning := beginningOf(redisconn.Read("HGET", []any{value}).Bytes())
		of := shelfIn(beginning)
		ids, details := k.ended(of.State, of.Name)
		answer, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: dropOutcomeScript,
			Keys: []string{k.outcomes, k.outcomesUntil, ids, details}, Args: []any{id, beginning}})
		if err != nil {
			return false, err
		}
		if Word(answer) != "changed" {
			return Word(answer) == "dropped", nil
		}
	}
	return false, nil
}
