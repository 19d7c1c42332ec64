package worqr

import (
	"context"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/retry"
)

// untilAnswered makes a call until it is answered, for as long as ctx lasts and CallTimeout at the most. The call must
// be one that may be made twice. doubt says that an attempt was not answered: it may have been executed, or may still
// be.
func (c *Client) untilAnswered(ctx context.Context, call func(context.Context) error) (doubt bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	steps := retry.Steps{Classify: func(err error) retry.Class {
		class := classify(err)
		doubt = doubt || class.MayCount
		return class
	}}
	err = steps.UntilAnswered(ctx, call)
	return doubt, err
}

// classify is retry.Classify with the errors of this package.
func classify(err error) retry.Class {
	class := redisconn.Classify(err)
	told := retry.Class{Err: err, MayCount: class.MayCount, Again: class.Again}
	switch {
	case redisconn.IsFull(err):
		told.Err = fmt.Errorf("%w: %w", ErrRedisFull, err)
	case errors.Is(err, redisconn.ErrClosed) && !class.MayCount:
		told.Err = ErrClosed
	case errors.Is(err, errLate):
		told.MayCount, told.Again = true, false
	}
	return told
}
