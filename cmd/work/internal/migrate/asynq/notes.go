package asynq

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/redisconn"
)

// Notes is what has no equivalent, and what the program must declare anew.
func (s *Source) Notes(ctx context.Context) (notes []string, err error) {
	queues, err := s.queues(ctx)
	if err != nil {
		return nil, err
	}
	if notes, err = s.unknown(ctx, queues); err != nil {
		return nil, err
	}
	for _, queue := range queues {
		done, err := s.Count(ctx, ledger.Shelf{Kind: ledger.Dead, Key: prefix(queue) + "completed"})
		if err != nil {
			return nil, err
		}
		if done > 0 {
			notes = append(notes, fmt.Sprintf("queue %s keeps %d completed tasks: what has ended does not come over",
				queue, done))
		}
		paused, err := s.exists(ctx, prefix(queue)+"paused")
		if err != nil {
			return nil, err
		}
		if paused {
			notes = append(notes, fmt.Sprintf("queue %s is paused: here queues are those of job names, see work pause",
				queue))
		}
	}
	if len(queues) > 1 {
		notes = append(notes, fmt.Sprintf("%d queues (%s): here each job name has its own; weights are "+
			"JobOptions.Priority", len(queues), strings.Join(queues, ", ")))
	}
	crons, err := s.crons(ctx)
	return append(notes, crons...), err
}

// unknown says which queues are not there: "0 jobs came over" would be taken for success.
func (s *Source) unknown(ctx context.Context, queues []string) (notes []string, err error) {
	known, err := s.members(ctx, "asynq:queues")
	if err != nil {
		return nil, err
	}
	if len(known) == 0 {
		return []string{"no queue of asynq is there: is --from the Redis that its servers use, and the number of its " +
			"database?"}, nil
	}
	slices.Sort(known)
	for _, queue := range queues {
		if !slices.Contains(known, queue) {
			notes = append(notes, fmt.Sprintf("--queue %s: there is none of that name, but %s", excerpt.Brief(queue),
				strings.Join(known, ", ")))
		}
	}
	return notes, nil
}

func (s *Source) exists(ctx context.Context, key string) (bool, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "EXISTS", Keys: []string{key}})
	if err != nil {
		return false, err
	}
	r := ledger.One("EXISTS", value)
	return r.Number() > 0, r.Err()
}

// crons are the entries of schedulers that run now, or did a moment ago.
func (s *Source) crons(ctx context.Context) (notes []string, err error) {
	value, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "ZRANGE", Keys: []string{"asynq:schedulers"}, Args: []any{"0", "-1"}})
	if err != nil {
		return nil, err
	}
	keys, err := ledger.Texts("ZRANGE", value)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		value, err := redisconn.Do(ctx, s.driver,
			redisconn.Call{Command: "LRANGE", Keys: []string{key}, Args: []any{"0", "-1"}})
		if err != nil {
			return nil, err
		}
		entries, err := ledger.Texts("LRANGE", value)
		if err != nil {
			return nil, err
		}
		for _, raw := range entries {
			c, err := decodeCron([]byte(raw))
			if err != nil {
				return nil, fmt.Errorf("an entry of %s cannot be read: %w", key, err)
			}
			notes = append(notes, fmt.Sprintf("cron %q of %s: declare it, pool.Periodic(%q, %q, ...)", c.Spec, c.Type,
				c.Spec, c.Type))
		}
	}
	return notes, nil
}
