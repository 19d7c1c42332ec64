package rdb

import (
	"context"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var againScript = redisconn.Load("inspect/again")

// Again is a job that is to do what another one did that has ended.
type Again struct {
	Former          string     // its id
	Shelf           EndedShelf // where it stands
	Beginning       []byte     // of its outcome, which says when it ended
	Details, Marked []byte     // what is kept of it, as it was read, and with a note of the new job

	ID      string // of the new job
	Queue   string
	Record  []byte
	Lock    Lock
	Turn    Turn
	Objects []string // SHA-256 of those that its record refers to
}

// AgainAnswer is what came of an [Again].
type AgainAnswer struct {
	Stored   bool   // once, however often it was sent
	Owner    string // the job that has the lock, where one has
	NoObject string // the object that is gone, where one is
}

// Again stores the job, and notes that with the former one. It does neither where the former job has not ended so any
// more.
func (s *Store) Again(ctx context.Context, a Again) (AgainAnswer, error) {
	k := s.keys
	_, details := k.ended(a.Shelf.State, a.Shelf.Name)
	keys := k.queue(a.Queue).appendTo([]string{k.jobs, k.queues, k.ready, k.limits, k.outcomes, details, k.unique,
		k.objects})
	keys = append(keys, k.lanes, k.foreign, k.turns, k.passes, k.turning, k.keyed)
	for _, sha := range a.Objects {
		keys = append(keys, k.object(sha).jobs)
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: againScript, Keys: keys,
		Args: appendTexts([]any{a.Former, a.Beginning, a.Details, a.Marked, a.ID, a.Record, a.Queue,
			a.Lock.Digest, string(a.Lock.Kind), s.at, a.Turn.text()}, a.Objects)})
	if err != nil {
		return AgainAnswer{}, routed(err)
	}
	said := Word(value)
	owner, owned := strings.CutPrefix(said, "unique:")
	sha, lacks := strings.CutPrefix(said, "noobject:")
	switch {
	case owned:
		return AgainAnswer{Owner: owner}, nil
	case lacks:
		return AgainAnswer{NoObject: sha}, nil
	case said == "stored" || said == "changed":
		return AgainAnswer{Stored: said == "stored"}, nil
	}
	return AgainAnswer{}, &redisconn.UnexpectedReplyError{Script: againScript.Name, Reply: value}
}
