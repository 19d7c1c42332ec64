package rdb

import (
	"context"
	"slices"
	"time"
)

var overdueScript = Load("worker/overdue")

// Lateness is what the deadlines of all workers say.
type Lateness struct {
	Overdue    []string // ids that should have beaten again by now
	Registered int      // how many are registered
	Listed     int      // how many have a deadline; other versions of this program write none
	Dead       int      // how many are being taken apart
}

// Late returns which workers should have beaten again by now, at most so many. So does one whose deadline is further
// ahead than any heartbeat lasts. One that is named is not dead for that: see Condemn.
func (s *Store) Late(ctx context.Context, ahead time.Duration, most int) (Lateness, error) {
	k := s.keys
	value, err := Do(ctx, s.driver, Call{
		Script: overdueScript, Keys: []string{k.deadlines, k.workers, k.dead}, Args: []any{millis(ahead), most},
	})
	if err != nil {
		return Lateness{}, err
	}
	r := Read(overdueScript.Name, value)
	late := Lateness{Overdue: r.Texts(), Registered: int(r.Number()), Listed: int(r.Number()), Dead: int(r.Number())}
	return late, r.err
}

// Unlisted returns the workers that are registered and have no deadline.
func (s *Store) Unlisted(ctx context.Context) ([]string, error) {
	replies, err := s.driver.Pipeline(ctx,
		Call{Command: "SMEMBERS", Args: []any{s.keys.workers}},
		Call{Command: "ZRANGE", Args: []any{s.keys.deadlines, 0, -1}})
	if err != nil {
		return nil, err
	}
	if replies[0].Err != nil {
		return nil, replies[0].Err
	}
	listed := map[string]bool{}
	r := &Reader{script: "SMEMBERS"}
	if replies[1].Err == nil { // of another type it lists nobody
		for _, id := range texts(r, replies[1].Value) {
			listed[id] = true
		}
	}
	unlisted := slices.DeleteFunc(texts(r, replies[0].Value), func(id string) bool { return listed[id] })
	return unlisted, r.err
}
