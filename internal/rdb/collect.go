package rdb

import (
	"context"
	"strings"
	"time"
)

var collectScript = Load("inspect/collect")

// Collected is one entry of a completion queue. The zero value is none.
type Collected struct{ State, ID string }

// Collect takes the oldest entry out of a completion queue. lane is the reader's, which makes one call at a time;
// number is that of the call, and a call that was not answered is made again with the same one: it answers the same. A
// call that took nothing needs no new number.
func (s *Store) Collect(ctx context.Context, completion, lane string, number int64) (Collected, error) {
	value, err := Do(ctx, s.driver, Call{
		Script: collectScript, Keys: []string{s.keys.lanes, s.keys.completion(completion)}, Args: []any{lane, number},
	})
	if err != nil || value == nil {
		return Collected{}, err
	}
	state, id, found := strings.Cut(word(value), " ")
	if !found {
		return Collected{}, &UnexpectedReplyError{Script: collectScript.Name, Reply: value}
	}
	return Collected{State: state, ID: id}, nil
}

// WaitForCompletion waits until a completion queue has an entry, and takes none: it moves the oldest one from where it
// is to the same place. on is the caller's own connection. It returns without one after the timeout, of at least
// [ShortestBlock].
func (s *Store) WaitForCompletion(ctx context.Context, on Conn, completion string, timeout time.Duration) error {
	list := s.keys.completion(completion)
	_, err := Do(ctx, on, Call{
		Command: "BLMOVE", Keys: []string{list, list}, Args: []any{"RIGHT", "RIGHT", BlockFor(timeout)},
		Block: timeout,
	})
	return err
}
