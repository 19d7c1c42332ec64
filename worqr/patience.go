package worqr

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/265d0351/work/internal/rdb"
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
		if !pause(ctx, backoffFor(failures)) {
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
	var refused *rdb.ServerError
	var notSent *rdb.DialError
	var strange *rdb.UnexpectedReplyError
	switch {
	case err == nil:
		return verdict{}
	case errors.As(err, &refused):
		if refused.Code == "OOM" {
			err = fmt.Errorf("%w: %w", ErrRedisFull, err)
		}
		return verdict{err: err, again: passes(refused.Code)}
	case errors.As(err, &notSent):
		if errors.Is(err, rdb.ErrClosed) {
			return verdict{err: ErrClosed}
		}
		return verdict{err: err, again: true}
	case errors.As(err, &strange), errors.Is(err, errLate):
		return verdict{err: err, mayCount: true}
	}
	return verdict{err: err, mayCount: true, again: true}
}

// passes tells whether a refusal ends by itself.
func passes(code string) bool {
	switch code {
	case "LOADING", "READONLY", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS", "MISCONF":
		return true
	}
	return false
}

// blame names why the waiting ended and what was wrong with Redis until then.
func blame(cause, trouble error) error {
	if errors.Is(trouble, cause) {
		return trouble
	}
	return fmt.Errorf("%w: %w", cause, trouble)
}

// backoffFor is how long to wait after so many failures in a row: from 50 ms to 2 s, with jitter.
func backoffFor(failures int) time.Duration {
	ceiling := min(50*time.Millisecond<<min(failures-1, 10), 2*time.Second)
	return ceiling/2 + rand.N(ceiling/2)
}

// pause waits, and returns false when ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
