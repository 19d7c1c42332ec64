package inspect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrServed is returned by Erase when workers are registered in the namespace.
var ErrServed = errors.New("workers are registered in it: stop them first, or wait until those that died are reaped")

// Erase removes every key of the namespace, with all jobs and outcomes in them, and returns how many keys there were.
// It cannot be undone. While workers are registered it removes nothing and returns an error that is [ErrServed]; what
// others enqueue meanwhile may be left. After an error some keys may be gone; calling it again goes on.
//
// Like the doctor it walks over all keys of the database with SCAN, a few hundred at a time, and touches none of
// another namespace.
func (i *Inspector) Erase(ctx context.Context) (keys int, err error) {
	if i.unusable != nil {
		return 0, i.unusable
	}
	namespace := strings.TrimSuffix(i.store.FullName(""), ":")
	workers, err := i.store.Members(ctx, "workers")
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s was not erased: %w", namespace, err)
	case len(workers) > 0:
		return 0, fmt.Errorf("%s was not erased: %w", namespace, ErrServed)
	}
	for cursor := "0"; ; {
		next, page, err := i.store.ScanKeys(ctx, cursor)
		if err != nil {
			return keys, fmt.Errorf("%s was not erased to its end: %w", namespace, err)
		}
		erased, err := i.store.Erase(ctx, page)
		keys += erased
		if err != nil {
			return keys, fmt.Errorf("%s was not erased to its end: %w", namespace, err)
		}
		if cursor = next; cursor == "0" {
			return keys, nil
		}
	}
}

// ServerCPU is the processor time that Redis has used since it started, with all its threads; 0 where it does not say,
// as the embedded one. What it grew by, over the jobs done meanwhile, is what a job costs where nothing else uses that
// Redis.
func (i *Inspector) ServerCPU(ctx context.Context) (time.Duration, error) {
	if i.unusable != nil {
		return 0, i.unusable
	}
	return i.store.CPU(ctx)
}
