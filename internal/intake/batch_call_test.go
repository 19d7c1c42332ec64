package intake_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	errLost    = errors.New("connection to Redis at redis:6379 lost while waiting for the reply to script enqueue: EOF")
	errNoRedis = &redisconn.DialError{Addr: "redis:6379", Err: errors.New("connection refused")}
)

func refused(code string) error {
	return &redisconn.ServerError{Code: code, Message: code + " something"}
}

func TestCallIsMadeAgainOnlyWhereThatMayHelp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		errs     []error // of the attempts; after the last one Redis answers
		attempts int
		want     string // error; empty for stored
		unknown  bool
	}{
		"answered":    {attempts: 1},
		"lost":        {errs: []error{errLost}, attempts: 2},
		"lost thrice": {errs: []error{errLost, io.ErrUnexpectedEOF, errLost}, attempts: 4},
		"not sent":    {errs: []error{errNoRedis, errNoRedis}, attempts: 3},
		"loading":     {errs: []error{refused("LOADING")}, attempts: 2},
		"read-only":   {errs: []error{refused("READONLY"), refused("MASTERDOWN")}, attempts: 3},
		"busy": {errs: []error{refused("BUSY"), refused("TRYAGAIN"), refused("CLUSTERDOWN")},
			attempts: 4},
		"loading at the dial": {errs: []error{&redisconn.DialError{Addr: "a", Err: refused("LOADING")}}, attempts: 2},
		"too many clients": {errs: []error{&redisconn.ServerError{Code: "ERR",
			Message: "ERR max number of clients reached"}}, attempts: 2},
		"full": {errs: []error{refused("OOM")}, attempts: 1,
			want: `redis is full (maxmemory): it takes no new jobs until some have ended: OOM something`},
		"lost, then full": {errs: []error{errLost, refused("OOM")}, attempts: 2, unknown: true,
			want: `redis is full (maxmemory): ` +
				`it takes no new jobs until some have ended: OOM something`},
		"not sent, then full": {errs: []error{errNoRedis, refused("OOM")}, attempts: 2,
			want: `redis is full (maxmemory): it takes no new jobs until some have ended: OOM something`},
		"lost, loading, then broken": {errs: []error{errLost, refused("LOADING"), refused("BADKEY")}, attempts: 3,
			unknown: true,
			want:    `BADKEY something`},
		"broken": {errs: []error{refused("BADKEY")}, attempts: 1,
			want: `BADKEY something`},
		"password": {errs: []error{refused("NOAUTH")}, attempts: 1,
			want: `NOAUTH something`},
		"permission":    {errs: []error{refused("NOPERM"), refused("NOPERM")}, attempts: 3},
		"unknown words": {errs: []error{refused("MOONRISE"), refused("MOONRISE")}, attempts: 3},
		"stale": {errs: []error{refused("STALE")}, attempts: 1,
			want: `STALE something`},
		"wrong password": {errs: []error{&redisconn.DialError{Addr: "a", Err: refused("WRONGPASS")}}, attempts: 1,
			want: `cannot connect to Redis at a: WRONGPASS something`},
		"driver closed": {errs: []error{&redisconn.DialError{Addr: "a", Err: redisconn.ErrClosed}}, attempts: 1,
			want: `cannot connect to Redis at a: the connection was closed by this program`},
		"strange reply": {errs: []error{&redisconn.UnexpectedReplyError{Script: "enqueue", Reply: "hello"}},
			attempts: 1, unknown: true,
			want: `Redis answered enqueue with something else than expected: hello`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in, store := newPlayed(t, func(_ context.Context, call sentCall) (rdb.Enqueued, error) {
					if call.nth < len(c.errs) {
						return rdb.Enqueued{}, c.errs[call.nth]
					}
					return stored, nil
				})
				result := put(context.Background(), in, "a")
				sent := store.sent()
				require.Len(t, sent, c.attempts)
				for _, call := range sent {
					first := sent[0]
					first.nth = call.nth
					assert.Equal(t, first, call, "each attempt is the same call")
				}
				if c.want == "" {
					assert.Equal(t, intake.Result{Outcome: intake.Stored, At: storedAt}, result)
					return
				}
				want := intake.NotStored
				if c.unknown {
					want = intake.Unknown
				}
				assert.Equal(t, intake.Result{Outcome: want, Err: result.Err}, result)
				assert.EqualError(t, result.Err, c.want)
				for _, cause := range c.errs[len(c.errs)-1:] {
					assert.ErrorIs(t, result.Err, cause)
				}
			})
		})
	}
}

func TestCallTriesAsLongAsThereIsTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause   error
		within  time.Duration // of ctx; 0: none
		want    string
		outcome intake.Outcome
	}{
		"EnqueueTimeout, nothing sent": {cause: errNoRedis,
			want:    `no answer within 10s (EnqueueTimeout): cannot connect to Redis at redis:6379: connection refused`,
			outcome: intake.NotStored},
		"EnqueueTimeout, sent": {cause: errLost, outcome: intake.Unknown,
			want: `no answer within 10s (EnqueueTimeout): ` + errLost.Error()},
		"ctx, nothing sent": {cause: errNoRedis, outcome: intake.NotStored, within: 3 * time.Second,
			want: `context deadline exceeded: cannot connect to Redis at redis:6379: connection refused`},
		"a later ctx": {cause: refused("LOADING"), outcome: intake.NotStored, within: time.Hour,
			want: `no answer within 10s (EnqueueTimeout): LOADING something`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				in, store := newPlayed(t, func(context.Context, sentCall) (rdb.Enqueued, error) {
					return rdb.Enqueued{}, c.cause
				})
				ctx, wait := context.Background(), timeout
				if c.within > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.within)
					defer cancel()
					wait = min(wait, c.within)
				}
				begun := time.Now()
				result := put(ctx, in, "a")
				assert.Equal(t, wait, time.Since(begun))
				assert.EqualError(t, result.Err, c.want)
				assert.Equal(t, c.outcome, result.Outcome)
				require.ErrorIs(t, result.Err, context.DeadlineExceeded)
				require.ErrorIs(t, result.Err, c.cause)
				assert.InDelta(t, wait.Seconds()/1.5+5, len(store.sent()), 6,
					"attempts with pauses of 1 to 2 s at the end")
			})
		})
	}
}

func TestCallThatHangsEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, _ := newPlayed(t, func(ctx context.Context, _ sentCall) (rdb.Enqueued, error) {
			<-ctx.Done()
			return rdb.Enqueued{}, ctx.Err()
		})
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("the visitor left"))
		defer cancel()
		result := put(ctx, in, "a")
		assert.Equal(t, intake.Unknown, result.Outcome)
		assert.EqualError(t, result.Err, "the visitor left: context deadline exceeded")
		result = put(ctx, in, "a")
		assert.Equal(t, intake.NotStored, result.Outcome)
		assert.EqualError(t, result.Err, "the visitor left", "the ctx has ended already")
	})
}
