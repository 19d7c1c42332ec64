package work

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/rdb"
)

var (
	errLost    = errors.New("connection to Redis at redis:6379 lost while waiting for the reply to script enqueue: EOF")
	errNoRedis = &rdb.DialError{Addr: "redis:6379", Err: errors.New("connection refused")}
)

func refused(code string) error { return &rdb.ServerError{Code: code, Message: code + " something"} }

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
		"loading at the dial": {errs: []error{&rdb.DialError{Addr: "a", Err: refused("LOADING")}}, attempts: 2},
		"too many clients": {errs: []error{&rdb.ServerError{Code: "ERR",
			Message: "ERR max number of clients reached"}}, attempts: 2},
		"full": {errs: []error{refused("OOM")}, attempts: 1,
			want: `job "a" is not stored: redis is full (maxmemory): it takes no new jobs until some have ended: OOM something`},
		"lost, then full": {errs: []error{errLost, refused("OOM")}, attempts: 2, unknown: true,
			want: `it is not known whether job "a" is stored (a reply was lost): redis is full (maxmemory): ` +
				`it takes no new jobs until some have ended: OOM something`},
		"not sent, then full": {errs: []error{errNoRedis, refused("OOM")}, attempts: 2,
			want: `job "a" is not stored: redis is full (maxmemory): it takes no new jobs until some have ended: OOM something`},
		"lost, loading, then broken": {errs: []error{errLost, refused("LOADING"), refused("BADKEY")}, attempts: 3,
			unknown: true,
			want:    `it is not known whether job "a" is stored (a reply was lost): BADKEY something`},
		"broken": {errs: []error{refused("BADKEY")}, attempts: 1,
			want: `job "a" is not stored: BADKEY something`},
		"password": {errs: []error{refused("NOAUTH")}, attempts: 1,
			want: `job "a" is not stored: NOAUTH something`},
		"permission": {errs: []error{refused("NOPERM")}, attempts: 1,
			want: `job "a" is not stored: NOPERM something`},
		"stale": {errs: []error{refused("STALE")}, attempts: 1,
			want: `job "a" is not stored: STALE something`},
		"wrong password": {errs: []error{&rdb.DialError{Addr: "a", Err: refused("WRONGPASS")}}, attempts: 1,
			want: `job "a" is not stored: cannot connect to Redis at a: WRONGPASS something`},
		"driver closed": {errs: []error{&rdb.DialError{Addr: "a", Err: rdb.ErrClosed}}, attempts: 1,
			want: `job "a" is not stored: cannot connect to Redis at a: the connection was closed by this program`},
		"strange reply": {errs: []error{&rdb.UnexpectedReplyError{Script: "enqueue", Reply: "hello"}}, attempts: 1,
			unknown: true,
			want:    `it is not known whether job "a" is stored (a reply was lost): Redis answered enqueue with something else than expected: hello`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				enq, driver := newStubEnqueuer(t, func(_ context.Context, call sentCall) (string, error) {
					if call.nth < len(c.errs) {
						return stubReply, c.errs[call.nth]
					}
					return stubReply, nil
				})
				receipt, err := enq.Enqueue(context.Background(), "a")
				sent := driver.sent()
				require.Len(t, sent, c.attempts)
				for _, call := range sent {
					first := sent[0]
					first.nth = call.nth
					assert.Equal(t, first, call, "each attempt is the same call")
				}
				if c.want == "" {
					require.NoError(t, err)
					assert.Equal(t, sent[0].ids[0], receipt.ID)
					return
				}
				var failed *EnqueueError
				require.ErrorAs(t, err, &failed)
				assert.EqualError(t, err, c.want)
				assert.Equal(t, c.unknown, len(failed.Unknown) == 1)
				assert.Equal(t, !c.unknown, len(failed.NotStored) == 1)
				assert.Zero(t, receipt)
				for _, cause := range c.errs[len(c.errs)-1:] {
					assert.ErrorIs(t, err, cause)
				}
			})
		})
	}
}

func TestCallTriesAsLongAsThereIsTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause   error
		timeout time.Duration // of ctx; 0: none
		want    string
	}{
		"EnqueueTimeout, nothing sent": {cause: errNoRedis,
			want: `job "a" is not stored: no answer within 10s (EnqueueTimeout): cannot connect to Redis at redis:6379: connection refused`},
		"EnqueueTimeout, sent": {cause: errLost,
			want: `it is not known whether job "a" is stored (a reply was lost): no answer within 10s (EnqueueTimeout): ` + errLost.Error()},
		"ctx, nothing sent": {cause: errNoRedis, timeout: 3 * time.Second,
			want: `job "a" is not stored: context deadline exceeded: cannot connect to Redis at redis:6379: connection refused`},
		"a later ctx": {cause: refused("LOADING"), timeout: time.Hour,
			want: `job "a" is not stored: no answer within 10s (EnqueueTimeout): LOADING something`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				enq, driver := newStubEnqueuer(t, func(context.Context, sentCall) (string, error) {
					return "",
						c.cause
				})
				ctx, wait := context.Background(), defaultEnqueueTimeout
				if c.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, c.timeout)
					defer cancel()
					wait = min(wait, c.timeout)
				}
				begun := time.Now()
				_, err := enq.Enqueue(ctx, "a")
				assert.Equal(t, wait, time.Since(begun))
				assert.EqualError(t, err, c.want)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.ErrorIs(t, err, c.cause)
				assert.InDelta(t, wait.Seconds()/1.5+5, len(driver.sent()), 6,
					"attempts with pauses of 1 to 2 s at the end")
			})
		})
	}
}

func TestCallThatHangsEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		enq, _ := newStubEnqueuer(t, func(ctx context.Context, _ sentCall) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		ctx, cancel := context.WithTimeoutCause(context.Background(), time.Second, errors.New("the visitor left"))
		defer cancel()
		_, err := enq.Enqueue(ctx, "a")
		assert.EqualError(t, err, `it is not known whether job "a" is stored (a reply was lost): the visitor left: context deadline exceeded`)
		_, err = enq.Enqueue(ctx, "a")
		assert.EqualError(t, err, `job "a" is not stored: the visitor left`, "the ctx has ended already")
	})
}

func TestEnqueueManyEndsWithThePartThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		enq, driver := newStubEnqueuer(t, func(ctx context.Context, call sentCall) (string, error) {
			if call.number == 2 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return stubReply + " 2=duplicate 3=badkey", nil
		})
		entries := make([]Entry, 1100)
		for i := range entries {
			entries[i].Name = "a"
		}
		receipts, err := enq.EnqueueMany(context.Background(), entries)
		var failed *EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Len(t, failed.Stored, 499)
		assert.Len(t, failed.Unknown, 500)
		assert.Len(t, failed.NotStored, 101)
		assert.Equal(t, 2, failed.NotStored[0])
		assert.Equal(t, 1000, failed.NotStored[1])
		assert.Equal(t, 500, failed.Unknown[0])
		assert.True(t, receipts[1].Duplicate)
		assert.Equal(t, time.UnixMilli(1732100000000), receipts[0].RunAt)
		assert.Equal(t, Receipt{}, receipts[500])
		assert.Len(t, driver.sent(), 2)
		assert.EqualError(t, err, `499 of 1100 jobs are stored, 101 are not, 500 are unknown (a reply was lost): `+
			`queue "a": the key of its queue holds something that is no list: rename or remove that key`)
	})
}

func TestBackoffGrowsWithJitterUpToTwoSeconds(t *testing.T) {
	t.Parallel()
	longest := 50 * time.Millisecond
	for failures := 1; failures < 100; failures++ {
		wait := backoff.For(failures)
		assert.GreaterOrEqual(t, wait, longest/2)
		assert.LessOrEqual(t, wait, longest)
		longest = min(2*longest, 2*time.Second)
	}
}

func TestPauseEndsWithItsCtx(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		require.True(t, backoff.Pause(context.Background(), time.Second))
		assert.Equal(t, time.Second, time.Since(begun))
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		defer cancel()
		assert.False(t, backoff.Pause(ctx, time.Hour))
	})
}

func TestRedisClockFollowsTheMostExactReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var clock redisClock
		assert.Equal(t, time.Now(), clock.now(), "ours, until the first reply")
		ahead := func() time.Duration { return time.Until(clock.now()).Round(10 * time.Millisecond) }
		now := time.Now()
		clock.saw(now.Add(time.Hour+time.Second), now, now.Add(2*time.Second))
		assert.Equal(t, time.Hour, ahead())
		clock.saw(now.Add(2*time.Hour), now, now.Add(20*time.Millisecond))
		assert.Equal(t, 2*time.Hour-10*time.Millisecond, ahead())
		clock.saw(now.Add(2*time.Hour+900*time.Millisecond), now, now.Add(time.Second))
		assert.Equal(t, 2*time.Hour-10*time.Millisecond, ahead(), "a slower reply says less")
		elapse(2 * clockAge)
		now = time.Now()
		clock.saw(now.Add(2*time.Hour+700*time.Millisecond), now, now.Add(time.Second))
		assert.Equal(t, 2*time.Hour+200*time.Millisecond, ahead(), "but more than an old one")
		clock.saw(now.Add(2*time.Hour), now, now)
		now = time.Now()
		clock.saw(now.Add(3*time.Hour+time.Second/2), now, now.Add(time.Second))
		assert.Equal(t, 3*time.Hour, ahead(), "and more than an exact one that it contradicts: the clock was set")
		clock.saw(now, now, now.Add(time.Millisecond))
		assert.Equal(t, time.Duration(0), ahead(), "back as well")
	})
}

func TestRedisClockUnderAWrongClockOfOurs(t *testing.T) {
	t.Parallel()
	for _, off := range []time.Duration{-3 * time.Hour, 0, 26 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				clock := redisClock{wall: func() time.Time { return time.Now().Add(off) }}
				assert.Equal(t, time.Now().Add(off), clock.now(), "ours, until the first reply")
				sent := clock.ours()
				elapse(10 * time.Millisecond)
				clock.saw(time.Now().Add(-5*time.Millisecond), sent, clock.ours())
				assert.WithinDuration(t, time.Now(), clock.now(), time.Millisecond, "then that of Redis")
				elapse(time.Hour)
				assert.WithinDuration(t, time.Now(), clock.now(), time.Millisecond, "and it goes on")
			})
		})
	}
}
