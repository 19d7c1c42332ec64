package limit

import (
	"context"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Say pauses queues in one partition, or lets them go on, and calls the workers to these: each unless something newer
// was said of it there. failure is the error of a queue of which that could not be said.
func Say(ctx context.Context, store *rdb.Store, pauses []rdb.Pause, failure func(name string, err error) error) error {
	if len(pauses) == 0 {
		return nil
	}
	changed, err := store.SetPauses(ctx, pauses)
	if err != nil {
		names := make([]string, len(pauses))
		for i, p := range pauses {
			names[i] = p.Name
		}
		return unsure(names, err, failure)
	}
	var failed excerpt.Errors
	var resumed []string
	for i, p := range pauses {
		if err := changed[i].Err; err != nil {
			failed = append(failed, failure(p.Name, unreadable(ctx, store, p.Name, err)))
		} else if p.Name == rdb.Everything && !p.Paused {
			failed = append(failed, wakeAll(ctx, store))
		} else if !p.Paused {
			resumed = append(resumed, p.Name)
		}
	}
	if len(resumed) > 0 {
		store.WakeParts(ctx, resumed...)
	}
	return excerpt.Join(failed...)
}

// unreadable is why the rule of a queue cannot be read, where that is what was refused.
func unreadable(ctx context.Context, store *rdb.Store, name string, err error) error {
	var refused *redisconn.ServerError
	if !errors.As(err, &refused) || refused.Code != "RULE" {
		return err
	}
	text, reading := store.RuleOf(ctx, name)
	if reading == nil {
		_, reading = rdb.ParseRule(text)
	}
	if reading != nil {
		return reading
	}
	return err
}

// wakeAll calls the workers to all queues with jobs.
func wakeAll(ctx context.Context, store *rdb.Store) error {
	ready, err := store.Members(ctx, "ready")
	if err == nil {
		err = store.Wake(ctx, ready)
	}
	if err != nil {
		return fmt.Errorf("the queues were resumed, but workers that sleep may need a second to see it: %w", err)
	}
	return nil
}
