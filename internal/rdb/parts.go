package rdb

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/redisconn"
)

// The jobs of a name that need labels wait in queues of their own: see package needs. Here it is found which there are.

// needsMessage is how the message on the control channel begins that tells of a queue of jobs that need labels, of
// which nothing was known before. The queue follows.
const needsMessage = "needs "

// NewPart returns the queue of jobs that need labels which a message on the control channel tells of.
func NewPart(message []byte) (queue string, is bool) {
	return strings.CutPrefix(string(message), needsMessage)
}

// Parts are the queues of jobs that need labels: those of the last 30 days, and those with jobs. What it costs grows
// with how many queues there are.
func (s *Store) Parts(ctx context.Context) ([]string, error) {
	seen, err := s.QueueNames(ctx)
	if err != nil {
		return nil, err
	}
	ready, err := s.ReadyParts(ctx)
	return append(slices.DeleteFunc(slices.Collect(maps.Keys(seen)), plainQueue), ready...), err
}

func plainQueue(queue string) bool { return !needs.Some(queue) }

// ReadyParts are those of them in which jobs wait.
func (s *Store) ReadyParts(ctx context.Context) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SMEMBERS", Args: []any{s.keys.ready}})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("SMEMBERS", value)
	ready := r.TextsOf(value)
	return slices.DeleteFunc(ready, plainQueue), r.Err()
}

// QueuesOf are all queues of the jobs of these names, in order: whatever they need. Those of the names are among them
// whether or not they are there.
func (s *Store) QueuesOf(ctx context.Context, names []string) ([]string, error) {
	parts, err := s.Parts(ctx)
	if err != nil {
		return nil, err
	}
	queues := slices.Clone(names)
	for _, queue := range parts {
		if slices.Contains(names, needs.Name(queue)) {
			queues = append(queues, queue)
		}
	}
	slices.Sort(queues)
	return slices.Compact(queues), nil
}

// WakeParts calls workers to the jobs of these names that need labels, for who has changed a rule of the names: that
// calls them to the other jobs. What fails is let be. The rule is in force, and workers find that out by themselves
// within a second.
func (s *Store) WakeParts(ctx context.Context, names ...string) {
	if ready, err := s.ReadyParts(ctx); err == nil {
		_ = s.Wake(ctx, slices.DeleteFunc(ready, func(queue string) bool {
			return !slices.Contains(names, needs.Name(queue))
		}))
	}
}
