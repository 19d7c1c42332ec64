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
// others enqueue meanwhile may be left. After an error some keys may be gone; calling it again goes on. Of a namespace
// with partitions all of them go, the first one last; while one cannot be asked nothing is removed.
//
// Like the doctor it walks over all keys of the database with SCAN, a few hundred at a time, and touches none of
// another namespace.
func (i *Inspector) Erase(ctx context.Context) (keys int, err error) {
	of := i.everywhere(ctx)
	err = each(ctx, of, (*view).unserved)
	if err != nil {
		return 0, err
	}
	last := scope{views: of.views[:1]} // it has the map, which says where the others are
	if !of.single() {
		of.views = of.views[1:]
		if err := inTurn(ctx, of, func(v *view) error { return v.erase(ctx, &keys) }); err != nil {
			return keys, err
		}
	}
	err = inTurn(ctx, last, func(v *view) error { return v.erase(ctx, &keys) })
	return keys, err
}

func (v *view) namespace() string { return strings.TrimSuffix(v.store.FullName(""), ":") }

// unserved refuses where workers are registered.
func (v *view) unserved(ctx context.Context) error {
	workers, err := v.store.Members(ctx, "workers")
	if err == nil && len(workers) > 0 {
		err = ErrServed
	}
	if err != nil {
		return fmt.Errorf("%s was not erased: %w", v.namespace(), err)
	}
	return nil
}

func (v *view) erase(ctx context.Context, keys *int) error {
	for cursor := "0"; ; {
		next, page, err := v.store.ScanKeys(ctx, cursor)
		if err == nil {
			var erased int
			erased, err = v.store.Erase(ctx, page)
			*keys += erased
		}
		if err != nil {
			return fmt.Errorf("%s was not erased to its end: %w", v.namespace(), err)
		}
		if cursor = next; cursor == "0" {
			return nil
		}
	}
}

// ServerCPU is the processor time that Redis has used since it started, with all its threads; 0 where it does not say,
// as the embedded one. What it grew by, over the jobs done meanwhile, is what a job costs where nothing else uses that
// Redis. With partitions it is that of all servers that have one.
func (i *Inspector) ServerCPU(ctx context.Context) (time.Duration, error) {
	of := i.served(ctx)
	if of.err != nil || of.single() {
		return gather(ctx, of,
			func(v *view, ctx context.Context) (time.Duration, error) { return v.store.CPU(ctx) }, nil)
	}
	servers, err := i.Servers(ctx)
	var sum time.Duration
	for n := range servers {
		sum += servers[n].CPU
	}
	return sum, err
}
