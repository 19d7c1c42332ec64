package thoonkdb

import (
	"context"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	defineRecurring = redisconn.Load("recurring/define")
	addRecurring    = redisconn.Load("recurring/add")
	takeRecurring   = redisconn.Load("recurring/take")
	updateRecurring = redisconn.Load("recurring/update")
	deleteRecurring = redisconn.Load("recurring/delete")
)

// Recurring is a set of items that are due again and again. Its methods may be called concurrently. They fail with
// [ErrNoFeed] where there is no such set.
type Recurring struct {
	store               *Store
	name                string
	sets, config, items string
}

// Recurring returns the set of that name, whether there is one or not.
func (s *Store) Recurring(name string) *Recurring {
	return &Recurring{s, name, s.prefix + "recurrings", s.prefix + "recurring.config:" + name,
		s.prefix + "recurring:" + name}
}

// Define makes the set known with a period, and returns the one that holds.
func (r *Recurring) Define(ctx context.Context, period time.Duration) (time.Duration, error) {
	value, err := r.do(ctx, redisconn.Call{
		Script: defineRecurring, Keys: []string{r.sets, r.config}, Args: []any{r.name, period.Milliseconds()},
	})
	if err != nil {
		return 0, err
	}
	text, _ := value.([]byte)
	ms, err := strconv.ParseFloat(string(text), 64)
	return time.Duration(ms * float64(time.Millisecond)), err
}

// Add adds an item unless it is there, and returns when it is due.
func (r *Recurring) Add(ctx context.Context, item []byte) (added bool, due time.Time, err error) {
	value, err := r.do(ctx, redisconn.Call{
		Script: addRecurring, Keys: []string{r.config, r.items}, Args: []any{item},
	})
	if err != nil {
		return false, time.Time{}, err
	}
	answer := redisconn.Read(addRecurring.Name, value)
	if !answer.More() {
		return false, time.Time{}, missing(answer.Err())
	}
	added = answer.Number() == 1
	due, err = moment(answer.Text())
	if err == nil {
		err = answer.Err()
	}
	return added, due, err
}

// Taken is an item that was due, or when the next one is.
type Taken struct {
	Found bool
	Item  []byte
	Due   time.Time     // when it was
	Next  time.Duration // from now on, where none is due; negative: there is none
}

// Take hands out the item that is due for longest, and puts it off.
func (r *Recurring) Take(ctx context.Context) (Taken, error) {
	value, err := r.do(ctx, redisconn.Call{Script: takeRecurring, Keys: []string{r.config, r.items}})
	if err != nil {
		return Taken{}, err
	}
	answer := redisconn.Read(takeRecurring.Name, value)
	if !answer.More() {
		return Taken{}, missing(answer.Err())
	}
	if answer.Number() == 0 {
		return Taken{Next: time.Duration(answer.Number()) * time.Millisecond}, answer.Err()
	}
	due, err := moment(answer.Text())
	if err != nil {
		return Taken{}, err
	}
	return Taken{Found: true, Due: due, Item: answer.Bytes()}, answer.Err()
}

// Update replaces an item. It returns false if there is none.
func (r *Recurring) Update(ctx context.Context, item, by []byte) (bool, error) {
	value, err := r.do(ctx, redisconn.Call{
		Script: updateRecurring, Keys: []string{r.items}, Args: []any{item, by},
	})
	return value == int64(1), err
}

// Remove removes an item. It returns false if there is none.
func (r *Recurring) Remove(ctx context.Context, item []byte) (bool, error) {
	value, err := r.do(ctx, redisconn.Call{Command: "ZREM", Keys: []string{r.items}, Args: []any{item}})
	return value == int64(1), err
}

// Due tells when an item is due; the zero time if there is none.
func (r *Recurring) Due(ctx context.Context, item []byte) (time.Time, error) {
	value, err := r.do(ctx, redisconn.Call{Command: "ZSCORE", Keys: []string{r.items}, Args: []any{item}})
	if value == nil || err != nil {
		return time.Time{}, err
	}
	text, _ := value.([]byte)
	return moment(string(text))
}

// Length tells how many items there are, and how many of them are due.
func (r *Recurring) Length(ctx context.Context) (all, due int, err error) {
	answer, err := r.do(ctx, redisconn.Call{Command: "TIME"})
	if err != nil {
		return 0, 0, err
	}
	now, err := clock(answer)
	if err != nil {
		return 0, 0, err
	}
	replies, err := r.store.driver.Pipeline(ctx,
		redisconn.Call{Command: "ZCARD", Keys: []string{r.items}},
		redisconn.Call{Command: "ZCOUNT", Keys: []string{r.items}, Args: []any{"-inf", now.UnixMilli()}})
	if err != nil {
		return 0, 0, err
	}
	values, err := redisconn.Values(replies)
	if err != nil {
		return 0, 0, err
	}
	n, _ := values[0].(int64)
	late, _ := values[1].(int64)
	return int(n), int(late), nil
}

// Delete removes the set. It returns false if there is none.
func (r *Recurring) Delete(ctx context.Context) (bool, error) {
	value, err := r.do(ctx, redisconn.Call{
		Script: deleteRecurring, Keys: []string{r.sets, r.config, r.items}, Args: []any{r.name},
	})
	return value == int64(1), err
}

func (r *Recurring) do(ctx context.Context, call redisconn.Call) (any, error) {
	return redisconn.Do(ctx, r.store.driver, call)
}

// missing is what an answer without anything means.
func missing(err error) error {
	if err != nil {
		return err
	}
	return ErrNoFeed
}

// moment reads a time in ms.
func moment(text string) (time.Time, error) {
	ms, err := strconv.ParseFloat(text, 64)
	return time.UnixMilli(int64(ms)), err
}
