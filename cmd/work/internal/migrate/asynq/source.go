package asynq

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"slices"

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

// source is checked here: see the interface.
var _ migrate.Source = (*Source)(nil)
