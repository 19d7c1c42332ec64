package thoonkdb

import (
	"context"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	publishScript = redisconn.Load("thoonk/publish")
	retractScript = redisconn.Load("thoonk/retract")
	reserveScript = redisconn.Load("thoonk/reserve")
	insertScript  = redisconn.Load("thoonk/insert")
	moveScript    = redisconn.Load("thoonk/move")
	editScript    = redisconn.Load("thoonk/edit")
)

// Entry is an item under its id.
type Entry struct {
	ID   string
	Item []byte
}

// Publish puts an entry into a leaf and removes the oldest ones beyond max, if that is not 0. It returns false if it
// replaced one of the same id.
func (f *Feed) Publish(ctx context.Context, known string, entry Entry, max int) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: publishScript,
		Keys: []string{f.store.feeds(), f.config, f.ids, f.items, f.published, f.edited, f.retracted, f.publishes,
			f.counts},
		Args: []any{f.name, known, entry.ID, entry.Item, max},
	})
}

// Retract removes an entry of a leaf or a sorted feed. It returns false if there is none.
func (f *Feed) Retract(ctx context.Context, known, id string) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: retractScript, Keys: []string{f.store.feeds(), f.config, f.ids, f.items, f.retracted, f.counts},
		Args: []any{f.name, known, id},
	})
}

// Reserve returns an id of a sorted feed that nobody else gets.
func (f *Feed) Reserve(ctx context.Context, known string) (int64, error) {
	value, err := f.call(ctx, redisconn.Call{
		Script: reserveScript, Keys: []string{f.store.feeds(), f.config, f.counter}, Args: []any{f.name, known},
	})
	id, _ := value.(int64)
	return id, err
}

// Insert puts an entry under a reserved id into a sorted feed. It returns false if the item of the position is missing.
func (f *Feed) Insert(ctx context.Context, known string, entry Entry, position string) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: insertScript,
		Keys:   []string{f.store.feeds(), f.config, f.ids, f.items, f.published, f.positioned, f.publishes, f.counts},
		Args:   []any{f.name, known, entry.ID, entry.Item, position},
	})
}

// Moved says what became of a move.
type Moved int64

// What may become of a move.
const (
	MovedNowhere Moved = -1 // the item of the position is missing
	MovedNothing Moved = 0  // the item itself is missing
	MovedThere   Moved = 1
)

// Move gives an entry of a sorted feed another position.
func (f *Feed) Move(ctx context.Context, known, id, position string) (Moved, error) {
	value, err := f.call(ctx, redisconn.Call{
		Script: moveScript, Keys: []string{f.store.feeds(), f.config, f.ids, f.items, f.positioned},
		Args: []any{f.name, known, id, position},
	})
	n, _ := value.(int64)
	return Moved(n), err
}

// Edit replaces an item of a sorted feed. It returns false if there is none.
func (f *Feed) Edit(ctx context.Context, known string, entry Entry) (bool, error) {
	return f.flag(ctx, redisconn.Call{
		Script: editScript,
		Keys:   []string{f.store.feeds(), f.config, f.items, f.edited, f.published, f.publishes, f.counts},
		Args:   []any{f.name, known, entry.ID, entry.Item},
	})
}
