package thoonk

import (
	"context"
	"iter"
	"strconv"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// SortedFeed is a feed whose order its users choose. Its ids are integers. Its methods may be called concurrently.
type SortedFeed[T any] struct {
	*feed
	codec Codec[T]
}

// OpenSortedFeed opens a sorted feed; a nil codec is [JSON]. It fails with [ErrNoFeed], see [OrCreate], or a
// [*KindError].
func OpenSortedFeed[T any](ctx context.Context, c *Client, name string, codec Codec[T],
	options ...OpenOption) (*SortedFeed[T], error) {
	f, err := c.open(ctx, name, KindSorted, options)
	if err != nil {
		return nil, err
	}
	return &SortedFeed[T]{f, orJSON(codec)}, nil
}

// Positions, as events say them: [Before] and [After] name an item beside them.
const (
	First = "begin:"
	Last  = ":end"
)

// Before is the position just before an item.
func Before(id int64) string { return ":" + decimal(id) }

// After is the position just after an item.
func After(id int64) string { return decimal(id) + ":" }

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

// Append puts an item at the end and returns its id.
func (s *SortedFeed[T]) Append(ctx context.Context, value T) (int64, error) {
	return s.insert(ctx, value, Last, "")
}

// Prepend puts an item at the beginning and returns its id.
func (s *SortedFeed[T]) Prepend(ctx context.Context, value T) (int64, error) {
	return s.insert(ctx, value, First, "")
}

// InsertBefore puts an item just before another one, or fails with [ErrNoItem] where that one is missing.
func (s *SortedFeed[T]) InsertBefore(ctx context.Context, id int64, value T) (int64, error) {
	return s.insert(ctx, value, Before(id), decimal(id))
}

// InsertAfter puts an item just after another one, or fails with [ErrNoItem] where that one is missing.
func (s *SortedFeed[T]) InsertAfter(ctx context.Context, id int64, value T) (int64, error) {
	return s.insert(ctx, value, After(id), decimal(id))
}

func (s *SortedFeed[T]) insert(ctx context.Context, value T, position, beside string) (int64, error) {
	item, err := encoded(s.codec, value)
	if err != nil {
		return 0, s.client.explained(s.Name(), err)
	}
	var id int64
	err = s.change(ctx, func(ctx context.Context, known string, _ Config) (err error) {
		id, err = s.db.Reserve(ctx, known)
		return err
	})
	if err != nil {
		return 0, err
	}
	err = s.changed(ctx, beside, ErrNoItem, func(ctx context.Context, known string) (bool, error) {
		return s.db.Insert(ctx, known, thoonkdb.Entry{ID: decimal(id), Item: item}, position)
	})
	if err != nil {
		return 0, err
	}
	return id, nil
}

// Edit replaces an item, which keeps its id and position, or fails with [ErrNoItem].
func (s *SortedFeed[T]) Edit(ctx context.Context, id int64, value T) error {
	item, err := encoded(s.codec, value)
	if err != nil {
		return s.client.explained(s.Name(), err)
	}
	return s.changed(ctx, decimal(id), ErrNoItem, func(ctx context.Context, known string) (bool, error) {
		return s.db.Edit(ctx, known, thoonkdb.Entry{ID: decimal(id), Item: item})
	})
}

// MoveFirst moves an item to the beginning, or fails with [ErrNoItem].
func (s *SortedFeed[T]) MoveFirst(ctx context.Context, id int64) error {
	return s.move(ctx, decimal(id), First, "")
}

// MoveLast moves an item to the end, or fails with [ErrNoItem].
func (s *SortedFeed[T]) MoveLast(ctx context.Context, id int64) error {
	return s.move(ctx, decimal(id), Last, "")
}

// MoveBefore moves an item just before another one, or fails with [ErrNoItem] where one of them is missing. Beside
// itself an item cannot be moved.
func (s *SortedFeed[T]) MoveBefore(ctx context.Context, id, beside int64) error {
	return s.move(ctx, decimal(id), Before(beside), decimal(beside))
}

// MoveAfter moves an item just after another one, or fails as [SortedFeed.MoveBefore] does.
func (s *SortedFeed[T]) MoveAfter(ctx context.Context, id, beside int64) error {
	return s.move(ctx, decimal(id), After(beside), decimal(beside))
}

func (s *SortedFeed[T]) move(ctx context.Context, id, position, beside string) error {
	if id == beside {
		return &FeedError{Feed: s.Name(), ID: id,
			Err: &NameError{What: "position", Name: position, Reason: "is beside the item itself: name another one"}}
	}
	return s.change(ctx, func(ctx context.Context, known string, _ Config) error {
		moved, err := s.db.Move(ctx, known, id, position)
		switch {
		case err != nil:
			return err
		case moved == thoonkdb.MovedNothing:
			return &FeedError{Feed: s.Name(), ID: id, Err: ErrNoItem}
		case moved == thoonkdb.MovedNowhere:
			return &FeedError{Feed: s.Name(), ID: beside, Err: ErrNoItem}
		}
		return nil
	})
}

// Retract removes an item, or fails with [ErrNoItem].
func (s *SortedFeed[T]) Retract(ctx context.Context, id int64) error {
	return s.retract(ctx, decimal(id))
}

// Item returns one item, or fails with [ErrNoItem].
func (s *SortedFeed[T]) Item(ctx context.Context, id int64) (T, error) {
	return one(ctx, s.feed, s.codec, decimal(id))
}

// Has tells whether there is an item of that id.
func (s *SortedFeed[T]) Has(ctx context.Context, id int64) (bool, error) {
	return s.has(ctx, decimal(id))
}

// IDs returns all ids in their order.
func (s *SortedFeed[T]) IDs(ctx context.Context) ([]int64, error) {
	texts, err := s.feed.IDs(ctx)
	if err != nil {
		return nil, err
	}
	ids := make([]int64, len(texts))
	for i, text := range texts {
		if ids[i], err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, &FeedError{Feed: s.Name(), ID: text, Err: err}
		}
	}
	return ids, nil
}

// SortedItem is an item of a sorted feed and its id.
type SortedItem[T any] struct {
	ID    int64
	Value T
}

// All returns the items in their order, as [Leaf.All] does.
func (s *SortedFeed[T]) All(ctx context.Context) iter.Seq2[SortedItem[T], error] {
	return func(yield func(SortedItem[T], error) bool) {
		for item, err := range all(ctx, s.feed, s.codec) {
			id, bad := strconv.ParseInt(item.ID, 10, 64)
			if bad != nil && err == nil {
				err = &FeedError{Feed: s.Name(), ID: item.ID, Err: bad}
			}
			if !yield(SortedItem[T]{id, item.Value}, err) {
				return
			}
		}
	}
}
