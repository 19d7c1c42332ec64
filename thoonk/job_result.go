package thoonk

import (
	"context"
	"errors"
	"time"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Result is what a job was and what came of it. Of a job that another program has ended the Item may be missing: then
// it is the zero value.
type Result[T, R any] struct {
	Item   T
	Result R
}

// Result waits until a job has ended with a result, up to the timeout: 0 is for ever, [NoWait] looks once. It fails
// with [ErrNoResult]. Any number may wait for the same one, which stays until its time is over; each wait needs a
// connection. Whether there is such a job is not looked at, since it may be put in later.
func (j *JobFeed[T, R]) Result(ctx context.Context, id string, timeout time.Duration) (Result[T, R], error) {
	var found thoonkdb.Result
	err := checkJobID(id)
	if err == nil {
		err = j.read(ctx, func(ctx context.Context) error {
			return j.client.await(ctx, timeout, nil, waiting{
				try: func(ctx context.Context) (there bool, err error) {
					if err := context.Cause(ctx); err != nil {
						return false, err
					}
					found, there, err = j.db.Result(ctx, id)
					return there, err
				},
				wait: func(ctx context.Context, on redisconn.Conn, timeout time.Duration) (bool, error) {
					if found.Taken {
						return j.db.WaitForTakenResult(ctx, on, id, timeout)
					}
					return j.db.WaitForResult(ctx, on, id, timeout)
				},
			})
		})
	}
	if errors.Is(err, ErrEmpty) {
		err = &FeedError{Feed: j.Name(), ID: id, Err: ErrNoResult}
	}
	if err != nil {
		return Result[T, R]{}, j.client.explained(j.Name(), err)
	}
	return j.decodedResult(id, found)
}

// CheckResult returns the result of a job if there is one now.
func (j *JobFeed[T, R]) CheckResult(ctx context.Context, id string) (result Result[T, R], found bool, err error) {
	result, err = j.Result(ctx, id, NoWait)
	if errors.Is(err, ErrNoResult) {
		return result, false, nil
	}
	return result, err == nil, err
}

func (j *JobFeed[T, R]) decodedResult(id string, found thoonkdb.Result) (result Result[T, R], err error) {
	if !found.Alone {
		result.Item, err = decoded(j.items, found.Item)
	}
	if err == nil {
		result.Result, err = decoded(j.results, found.Result)
	}
	if err != nil {
		return result, &FeedError{Feed: j.Name(), ID: id, Err: err}
	}
	return result, nil
}
