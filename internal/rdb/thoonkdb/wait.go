package thoonkdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// WaitForItem waits until something waits in a queue or job feed, and takes nothing: the element at the front is moved
// to where it is. It returns false when the time is over. The connection is used for nothing else meanwhile.
//
// Other programs, which push ids and know no tokens, wake it too; and a caller that dies or gives up in the moment of
// its waking has lost nothing.
func (f *Feed) WaitForItem(ctx context.Context, on redisconn.Conn, timeout time.Duration) (bool, error) {
	return waitFor(ctx, on, f.ids, "RIGHT", timeout)
}

// WaitForResult waits until a job has a result, and leaves it there for others.
func (f *Feed) WaitForResult(ctx context.Context, on redisconn.Conn, id string, timeout time.Duration) (bool, error) {
	return waitFor(ctx, on, f.result(id), "LEFT", timeout)
}

// WaitForTakenResult waits until a job has a result where released programs take it, and leaves it there. One that is
// taken in that moment is not seen.
func (f *Feed) WaitForTakenResult(ctx context.Context, on redisconn.Conn, id string, timeout time.Duration) (bool,
	error) {
	return waitFor(ctx, on, f.takenResult(id), "LEFT", timeout)
}

func waitFor(ctx context.Context, on redisconn.Conn, list, end string, timeout time.Duration) (bool, error) {
	value, err := redisconn.Do(ctx, on, redisconn.Call{
		Command: "BLMOVE", Keys: []string{list, list}, Args: []any{end, end, redisconn.BlockFor(timeout)},
		Block: timeout,
	})
	return value != nil, err
}
