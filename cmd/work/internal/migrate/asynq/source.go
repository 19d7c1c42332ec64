package asynq

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/internal/redisconn"
)

//go:embed take.lua
var takeSource string

//go:embed close.lua
var closeSource string

var (
	takeScript  = ledger.Script("asynq/take", takeSource)
	closeScript = ledger.Script("asynq/close", closeSource)
)

// Source is asynq in a Redis.
type Source struct {
	driver  redisconn.Driver
	options Options
}

// Options say what comes over. The zero value is all but groups.
type Options struct {
	Groups bool     // tasks that wait in groups, too, each by itself
	Queues []string // only those; none is all
}

// New makes a source.
func New(driver redisconn.Driver, o Options) *Source { return &Source{driver: driver, options: o} }

// Name is what people call it.
func (*Source) Name() string { return "asynq" }

// prefix is what all keys of a queue begin with.
func prefix(queue string) string { return "asynq:{" + queue + "}:" }

// states are the states in which asynq lists tasks.
var states = map[ledger.Kind]string{ledger.Running: "active", ledger.Queued: "pending", ledger.Retrying: "retry",
	ledger.Scheduled: "scheduled", ledger.Dead: "archived", ledger.Grouped: "aggregating"}

// Ledgers are the beginnings of the keys of its ledgers: each queue is in a slot of its own.
func (s *Source) Ledgers(ctx context.Context) (all []string, err error) {
	queues, err := s.queues(ctx)
	for _, queue := range queues {
		all = append(all, prefix(queue)+"work-migrate:")
	}
	return all, err
}

func (s *Source) queues(ctx context.Context) ([]string, error) {
	if len(s.options.Queues) > 0 {
		return s.options.Queues, nil
	}
	queues, err := s.members(ctx, "asynq:queues")
	slices.Sort(queues)
	return queues, err
}

func (s *Source) members(ctx context.Context, key string) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SMEMBERS", Keys: []string{key}})
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", key, err)
	}
	return ledger.Texts("SMEMBERS", value)
}

// Shelves are the places of all queues.
func (s *Source) Shelves(ctx context.Context) (all []ledger.Shelf, err error) {
	queues, err := s.queues(ctx)
	if err != nil {
		return nil, err
	}
	for _, kind := range ledger.Kinds {
		for _, queue := range queues {
			shelf := ledger.Shelf{Ledger: prefix(queue) + "work-migrate:", Kind: kind, Queue: queue,
				Key: prefix(queue) + states[kind]}
			if kind != ledger.Grouped {
				all = append(all, shelf)
				continue
			}
			groups, err := s.members(ctx, prefix(queue)+"groups")
			if err != nil {
				return nil, err
			}
			for _, group := range groups {
				shelf.Key, shelf.Owner = prefix(queue)+"g:"+group, group
				all = append(all, shelf)
			}
		}
	}
	return all, nil
}

// Wanted tells whether what is there is to come over.
func (s *Source) Wanted(shelf ledger.Shelf) bool {
	return shelf.Kind != ledger.Grouped || s.options.Groups
}

// listed tells whether the place is a list.
func listed(kind ledger.Kind) bool { return kind == ledger.Queued || kind == ledger.Running }

// Count is how many tasks are there.
func (s *Source) Count(ctx context.Context, shelf ledger.Shelf) (int, error) {
	command := "ZCARD"
	if listed(shelf.Kind) {
		command = "LLEN"
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: command, Keys: []string{shelf.Key}})
	if err != nil {
		return 0, fmt.Errorf("%s cannot be read: %w", shelf.Key, err)
	}
	r := ledger.One(command, value)
	return int(r.Number()), r.Err()
}

// Notes is what has no equivalent, and what the program must declare anew.
func (s *Source) Notes(ctx context.Context) (notes []string, err error) {
	queues, err := s.queues(ctx)
	if err != nil {
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

// source is checked here: see the interface.
var _ migrate.Source = (*Source)(nil)
