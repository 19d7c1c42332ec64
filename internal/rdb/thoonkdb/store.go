// Package thoonkdb is the part of Redis that package thoonk uses: its keys and channels, and one method per script of
// lua/thoonk.
package thoonkdb

import (
	"context"
	"errors"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	createScript    = redisconn.Load("thoonk/create")
	deleteScript    = redisconn.Load("thoonk/delete")
	configureScript = redisconn.Load("thoonk/configure")
)

// What a script finds before it does anything.
var (
	ErrNoFeed = errors.New("there is no such feed")
	ErrStale  = errors.New("the config of the feed is not the one that the caller knows")
)

// Store is all feeds below one key prefix. Its methods may be called concurrently; none is ever resent by itself.
type Store struct {
	driver redisconn.Driver
	prefix string
}

// NewStore returns the feeds below a prefix. It dials nothing.
func NewStore(driver redisconn.Driver, prefix string) *Store {
	return &Store{driver: driver, prefix: prefix}
}

// Driver returns the client that the store was made with.
func (s *Store) Driver() redisconn.Driver { return s.driver }

// Feed returns the feed of that name, whether there is one or not.
func (s *Store) Feed(name string) *Feed { return newFeed(s, name) }

func (s *Store) feeds() string { return s.prefix + "feeds" }

// Names returns the names of all feeds, in no order.
func (s *Store) Names(ctx context.Context) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SMEMBERS", Keys: []string{s.feeds()}})
	if err != nil {
		return nil, err
	}
	return texts("SMEMBERS", value)
}

// NewConfig is a config to be stored.
type NewConfig struct {
	Content  string // [Framed], if it is to be a hash
	Released bool   // the feed is to have the form of the released programs, also where the config is no hash
	Leaf     bool   // it is a leaf; only looked at beside Released
}

// Create makes a feed known, with its config. It returns false if there is one.
func (f *Feed) Create(ctx context.Context, config NewConfig, instance string) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: createScript,
		Keys: []string{
			f.store.feeds(), f.config, f.store.prefix + "newfeed", f.publishes, f.tokens, f.counts,
		},
		Args: []any{f.name, config.Content, instance, config.Released},
	})
}

// Configure replaces the config that the caller knows, by one of the same form.
func (f *Feed) Configure(ctx context.Context, known string, config NewConfig, instance string) error {
	form := ""
	switch {
	case config.Released && config.Leaf:
		form = "leaf"
	case config.Released:
		form = "other"
	}
	_, err := f.call(ctx, redisconn.Call{
		Script: configureScript,
		Keys: []string{
			f.store.feeds(), f.config, f.store.prefix + "conffeed", f.publishes, f.ids, f.claimed, f.stalled,
			f.items,
		},
		Args: []any{f.name, known, config.Content, instance, form},
	})
	return err
}

// Delete removes the feed with all its keys, in steps of [rdb.MaxBatch] results, or fails with [ErrNoFeed].
func (f *Feed) Delete(ctx context.Context, instance string) error {
	for {
		page, err := f.resultIDs(ctx)
		if err != nil {
			return err
		}
		keys := []string{
			f.store.feeds(), f.results, f.store.prefix + "delfeed", f.config, f.ids, f.items, f.running, f.claimed,
			f.cancelled, f.stalled, f.counter, f.publishes, f.putTimes, f.finishes, f.tokens, f.counts,
		}
		args := []any{f.name, instance}
		for _, id := range page {
			keys, args = append(keys, f.result(id), f.takenResult(id)), append(args, id)
		}
		value, err := f.call(ctx, redisconn.Call{Script: deleteScript, Keys: keys, Args: args})
		switch {
		case err != nil:
			return err
		case value == int64(-1):
			return ErrNoFeed
		case value == int64(1):
			return nil
		}
	}
}

// resultIDs are ids that have a list of results, as many as one call may name.
func (f *Feed) resultIDs(ctx context.Context) ([]string, error) {
	value, err := f.call(ctx,
		redisconn.Call{Command: "SRANDMEMBER", Keys: []string{f.results}, Args: []any{rdb.MaxBatch}})
	if err != nil {
		return nil, err
	}
	return texts("SRANDMEMBER", value)
}

// Exists tells whether there is such a feed.
func (f *Feed) Exists(ctx context.Context) (bool, error) {
	return f.flag(ctx, redisconn.Call{Command: "SISMEMBER", Keys: []string{f.store.feeds()}, Args: []any{f.name}})
}
