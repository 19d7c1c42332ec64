package worqr

import (
	"context"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/redisconn"
)

// persist makes a call until it is answered, for as long as ctx lasts and CallTimeout at the most. The call must be one
// that may be made twice. doubt says that an attempt was not answered: it may have been executed, or may still be.
func (c *Client) persist(ctx context.Context, call func(ctx context.Context) error) (doubt bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.CallTimeout)
	defer cancel()
	var trouble error
	for failures := 1; ; failures++ {
		err := call(ctx)
		v := judge(err)
		doubt = doubt || v.mayCount
		switch {
		case err == nil:
			return doubt, nil
		case !v.again:
			return doubt, v.err
		case ctx.Err() == nil || trouble == nil:
			trouble = v.err
		}
		if !backoff.Pause(ctx, backoff.For(failures)) {
			return doubt, blame(context.Cause(ctx), trouble)
		}
	}
}

// verdict is what an error of an attempt means.
type verdict struct {
	err      error
	mayCount bool // it may have been executed, or still be
	again    bool // another attempt may go well
}

func judge(err error) verdict {
	class := redisconn.Classify(err)
	v := verdict{err: err, mayCount: class.MayCount, again: class.Again}
	switch {
	case redisconn.IsFull(err):
		v.err = fmt.Errorf("%w: %w", ErrRedisFull, err)
	case errors.Is(err, redisconn.ErrClosed) && !class.MayCount:
		v.err = ErrClosed
	case errors.Is(err, errLate):
		v.mayCount, v.again = true, false
	}
	return v
}

// blame names why the waiting ended and what was wrong with Redis until then.
func blame(cause, trouble error) error {
	if errors.Is(trouble, cause) {
		return trouble
	}
	return fmt.Errorf("%w: %w", cause, trouble)
}
