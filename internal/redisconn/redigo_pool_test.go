package redisconn_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/lazyctx"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func givenPool(t *testing.T, s redistest.Server, change func(*redis.Pool)) redisconn.Driver {
	t.Helper()
	pool := &redis.Pool{
		MaxActive: 1, MaxIdle: 1,
		Dial: func() (redis.Conn, error) {
			return redis.Dial("tcp", s.Addr(), redis.DialReadTimeout(50*time.Millisecond))
		},
	}
	if change != nil {
		change(pool)
	}
	d, err := redisconn.FromPool(pool)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, d.Close())
		conn := pool.Get() // Close of the driver leaves the pool to its owner
		_, err := redis.DoWithTimeout(conn, time.Minute, "PING")
		assert.NoError(t, err)
		conn.Close() //lint:ignore errcheck back to the pool
		pool.Close() //lint:ignore errcheck the end of the test
	})
	return d
}

func TestFromPoolRefusesWhatCannotDial(t *testing.T) {
	t.Parallel()
	_, err := redisconn.FromPool(nil)
	require.ErrorContains(t, err, "is nil: give a pool")
	_, err = redisconn.FromPool(&redis.Pool{})
	require.ErrorContains(t, err, "neither Dial nor DialContext")
}

// A pool of one connection without Wait serves any number of callers, one after the other.
func TestExhaustedGivenPoolIsWaitedOut(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for name, change := range map[string]func(*redis.Pool){
			"no wait": nil,
			"wait":    func(p *redis.Pool) { p.Wait = true },
			"dials with a context": func(p *redis.Pool) {
				p.DialContext = func(ctx context.Context) (redis.Conn,
					error) {
					return redis.DialContext(ctx, "tcp", s.Addr())
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				d, key := givenPool(t, s, change), redistest.Namespace(t)
				const callers = 16
				ended := make(chan error, callers)
				for range callers {
					go func() {
						_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "INCR", Keys: []string{key}})
						ended <- err
					}()
				}
				for range callers {
					require.NoError(t, <-ended)
				}
				assert.Equal(t, []byte("16"), do(t, d, "GET", key))
			})
		}
	})
}

func TestExhaustedGivenPoolUntilContextOrCloseEndsTheWait(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := givenPool(t, s, nil), redistest.Namespace(t)
		busy := make(chan error, 1)
		go func() { // holds the only connection, for longer than the pool's own read timeout
			_, err := d.Pipeline(t.Context(),
				redisconn.Call{Command: "LPUSH", Keys: []string{key}, Args: []any{"begun"}},
				redisconn.Call{Command: "BLPOP", Keys: []string{key + "-end"}, Args: []any{"120"},
					Block: 2 * time.Minute})
			busy <- err
		}()
		conn, err := d.Dial(t.Context()) // outside the limit
		require.NoError(t, err)
		defer conn.Close() //lint:ignore errcheck the end of the test
		_, err = conn.Pipeline(t.Context(), redisconn.Call{Command: "BLPOP", Keys: []string{key}, Args: []any{"60"},
			Block: time.Minute})
		require.NoError(t, err)

		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // long enough for one try on a busy machine
		defer cancel()
		_, err = d.Pipeline(ctx, redisconn.Call{Command: "PING"})
		var unsent *redisconn.DialError
		require.ErrorAs(t, err, &unsent)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redis.ErrPoolExhausted)

		waiting := make(chan error, 1)
		go func() {
			_, err := d.Pipeline(context.Background(), redisconn.Call{Command: "PING"})
			waiting <- err
		}()
		require.NoError(t, d.Close())
		require.ErrorIs(t, <-waiting, redisconn.ErrClosed)

		do(t, conn, "LPUSH", key+"-end", "go")
		require.NoError(t, <-busy, "Close lets calls under way finish")
	})
}

// A given Dial knows no ctx; the caller's ctx ends the wait for it all the same.
func TestDialThatIgnoresContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	dialled := make(chan struct{}, 2)
	d, err := redisconn.FromPool(&redis.Pool{Dial: func() (redis.Conn, error) {
		dialled <- struct{}{}
		<-release
		return nil, errors.New(`dial "redis://me:s3cr3t@host": no route`)
	}})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = d.Pipeline(ctx, redisconn.Call{Command: "PING"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	<-dialled
	_, err = d.Dial(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	close(release)
	_, err = d.Dial(t.Context())
	require.ErrorContains(t, err, "no route")
	assert.NotContains(t, err.Error(), "s3cr3t")
}

// liar answers the first line of each connection with the given one.
func liar(t *testing.T, answer string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	t.Cleanup(func() {
		l.Close() //lint:ignore errcheck ends the loop below
		<-served
	})
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := conn.Read(make([]byte, 1024)); err == nil && answer != "" {
				conn.Write([]byte(answer + "\r\n")) //lint:ignore errcheck the client reports it
			}
			conn.Read(make([]byte, 1)) //lint:ignore errcheck until the client has gone
			conn.Close()               //lint:ignore errcheck it has gone
		}
	}()
	return l.Addr().String()
}

func TestThePasswordIsInNoError(t *testing.T) {
	t.Parallel()
	const quoting = "-ERR unknown command 'AUTH', with args beginning with: 's3cr3t' "
	for name, dsn := range map[string]string{
		"quoted by the server": "redis://:s3cr3t@" + liar(t, quoting),
		"nobody listens":       "redis://:s3cr3t@127.0.0.1:1",
		"no answer":            "redis://:s3cr3t@" + liar(t, "") + "?dial_timeout=30ms",
		"not a Redis":          "redis://:s3cr3t@" + liar(t, "HTTP/1.1 400 Bad Request s3cr3t"),
		"no such socket":       "unix://:s3cr3t@/no/such/socket",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := open(t, dsn)
			_, err := d.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
			var unsent *redisconn.DialError
			require.ErrorAs(t, err, &unsent)
			assert.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's ctx has not ended")
			assert.NotContains(t, err.Error(), "s3cr3t")
			_, err = d.Dial(t.Context())
			require.ErrorAs(t, err, &unsent)
			assert.NotContains(t, err.Error(), "s3cr3t")
		})
	}
}

// What cannot be sent, since the server does not read, ends with a ctx that has no channel, too.
func TestABoundedContextEndsASend(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close() //lint:ignore errcheck the end of the test
	accepted := make(chan net.Conn, 1)
	go func() {
		if conn, err := listener.Accept(); err == nil {
			accepted <- conn
		}
	}()
	d := open(t, "redis://"+listener.Addr().String()+"?write_timeout=1h&read_timeout=1h")
	parent, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		b := &lazyctx.Bounded{Parent: parent, Until: time.Now().Add(time.Hour), Cause: func() error { return nil }}
		_, err := d.Pipeline(b, redisconn.Call{Command: "ECHO", Args: []any{make([]byte, 64<<20)}})
		ended <- err
	}()
	conn := <-accepted
	defer conn.Close()                  //lint:ignore errcheck the end of the test
	_, err = conn.Read(make([]byte, 1)) // it has begun
	require.NoError(t, err)
	cancel()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(time.Minute):
		require.FailNow(t, "it is still being sent")
	}
}

// On a connection of a pool that somebody else has made, a ctx without a channel ends a wait as well.
func TestABoundedContextEndsAWaitOnAGivenPool(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := givenPool(t, s, func(p *redis.Pool) { p.MaxActive = 2 }), t.Name()
		parent, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			b := &lazyctx.Bounded{Parent: parent, Until: time.Now().Add(time.Hour), Cause: func() error { return nil }}
			_, err := d.Pipeline(b, redisconn.Call{Command: "LPUSH", Keys: []string{key}, Args: []any{"begun"}},
				redisconn.Call{Command: "BLPOP", Keys: []string{key + "-none"}, Args: []any{"50"}, Block: time.Hour})
			ended <- err
		}()
		do(t, open(t, s.DSN()), "BLPOP", key, "20")
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}
