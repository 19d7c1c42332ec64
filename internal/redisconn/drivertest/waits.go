package drivertest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/lazyctx"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Redis may hold an answer back for as long as the call says, on top of the read timeout.
func (k Kit) blockingCallOutlastsTheReadTimeout(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := k.open(t, s.DSNWith("read_timeout=5s")), name(t)
		replies, err := d.Pipeline(t.Context(),
			redisconn.Call{Command: "BLPOP", Keys: []string{key}, Args: []any{"5.5"}, Block: 5500 * time.Millisecond})
		require.NoError(t, err)
		assert.Equal(t, []redisconn.Reply{{}}, replies)
	})
}

func (k Kit) contextEndsAWait(t *testing.T) {
	blpop := func(key string) redisconn.Call {
		return redisconn.Call{Command: "BLPOP", Keys: []string{key}, Args: []any{"30"}, Block: 30 * time.Second}
	}
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := k.open(t, s.DSN()), name(t)
		conn, err := d.Dial(t.Context())
		require.NoError(t, err)
		defer conn.Close() //lint:ignore errcheck broken below

		for name, pipeline := range map[string]func(context.Context, ...redisconn.Call) ([]redisconn.Reply, error){
			"pooled": d.Pipeline, "own": conn.Pipeline,
		} {
			// long enough for the first reply on a busy machine
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			begin := time.Now()
			_, err := pipeline(ctx, redisconn.Call{Command: "INCR", Keys: []string{key}}, blpop(key+"-none"))
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.ErrorContains(t, err, "reply to BLPOP", name)
			assert.Less(t, time.Since(begin), 20*time.Second, name)
			k.keepsNone(t, d, name)

			_, err = pipeline(ctx, redisconn.Call{Command: "INCR", Keys: []string{key}})
			var unsent *redisconn.DialError
			require.ErrorAs(t, err, &unsent, name)
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
		}
		assert.Equal(t, []byte("2"), Do(t, d, "GET", key))
		_, err = conn.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
		var unsent *redisconn.DialError
		require.ErrorAs(t, err, &unsent, "a broken connection of one's own stays broken")
	})
}

// A ctx without a channel ends a wait by its deadline, by its parent, and by hand.
func (k Kit) aBoundedContextEndsAWait(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		for way, row := range map[string]struct {
			until time.Duration
			end   func(b *lazyctx.Bounded, parent context.CancelFunc)
			want  error
		}{
			"its deadline": {4 * time.Second, func(*lazyctx.Bounded, context.CancelFunc) {}, context.DeadlineExceeded},
			"its parent": {time.Hour, func(_ *lazyctx.Bounded, parent context.CancelFunc) { parent() },
				context.Canceled},
			"by hand": {time.Hour, func(b *lazyctx.Bounded, _ context.CancelFunc) { b.End() }, context.Canceled},
		} {
			t.Run(way, func(t *testing.T) {
				d, other, key := k.open(t, s.DSN()), k.open(t, s.DSN()), name(t)
				parent, cancel := context.WithCancel(t.Context())
				defer cancel()
				b := &lazyctx.Bounded{Parent: parent, Until: time.Now().Add(row.until),
					Cause: func() error { return nil }}
				ended := make(chan error)
				go func() {
					_, err := d.Pipeline(b, redisconn.Call{Command: "LPUSH", Keys: []string{key}, Args: []any{"begun"}},
						redisconn.Call{Command: "BLPOP", Keys: []string{key + "-none"}, Args: []any{"30"},
							Block: 30 * time.Second})
					ended <- err
				}()
				Do(t, other, "BLPOP", key, "20")
				row.end(b, cancel)
				require.ErrorIs(t, <-ended, row.want)
				k.keepsNone(t, d, way)
			})
		}
	})
}

// A client may ask anew for how long it waits while a reply is late. What is read in the end is that reply, and the
// connection is as good as before.
func (k Kit) aLateReplyIsReadWhole(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := k.open(t, s.DSN()), name(t)
		wait := redisconn.Call{Command: "BLPOP", Keys: []string{key}, Args: []any{"0.05"}, Block: 50 * time.Millisecond}
		ping := redisconn.Call{Command: "PING"}
		for range 3 {
			parent, cancel := context.WithCancel(t.Context())
			b := &lazyctx.Bounded{Parent: parent, Until: time.Now().Add(time.Minute),
				Cause: func() error { return nil }}
			for _, ctx := range []context.Context{b, t.Context(), b} {
				replies, err := d.Pipeline(ctx, ping, wait, ping)
				require.NoError(t, err)
				assert.Equal(t, []redisconn.Reply{{Value: "PONG"}, {}, {Value: "PONG"}}, replies)
			}
			cancel()
		}
	})
}

// A ctx that ends when the replies have just been read breaks the connection without an error.
func (k Kit) aConnectionThatWasBrokenSaysSo(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d := k.open(t, s.DSN())
		ping := redisconn.Call{Command: "PING"}
		var conn redisconn.Conn
		for i := range 2000 {
			if conn == nil {
				var err error
				conn, err = d.Dial(t.Context())
				require.NoError(t, err)
				require.False(t, conn.Broken(), "it is new")
			}
			ctx, cancel := context.WithCancel(t.Context())
			go cancel()
			_, err := conn.Pipeline(ctx, ping)
			cancel()
			if conn.Broken() {
				require.NoError(t, conn.Close())
				conn = nil
				continue
			}
			var unsent *redisconn.DialError
			if err != nil {
				require.ErrorAs(t, err, &unsent, "round %d: nothing else leaves it whole", i)
			}
			_, err = conn.Pipeline(t.Context(), ping)
			require.NoError(t, err, "round %d", i)
			require.False(t, conn.Broken(), "no ctx has ended")
		}
		if conn != nil {
			require.NoError(t, conn.Close())
			assert.True(t, conn.Broken())
		}
	})
}

func (k Kit) closeEndsWhatIsUnderWay(t *testing.T) {
	k.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := k.open(t, s.DSN()), name(t)
		conn, err := d.Dial(t.Context())
		require.NoError(t, err)
		ended := make(chan error, 2)
		go func() {
			_, err := conn.Pipeline(context.Background(),
				redisconn.Call{Command: "LPUSH", Keys: []string{key}, Args: []any{"begun"}},
				redisconn.Call{Command: "BLPOP", Keys: []string{key + "-none"}, Args: []any{"30"},
					Block: 30 * time.Second})
			ended <- err
		}()
		ready := make(chan struct{})
		go func() { ended <- d.Subscribe(t.Context(), key, func() { close(ready) }, func([]byte) {}) }()
		<-ready
		Do(t, d, "BLPOP", key, "5")

		require.NoError(t, conn.Close())
		require.ErrorIs(t, <-ended, redisconn.ErrClosed)
		require.NoError(t, d.Close())
		require.ErrorIs(t, <-ended, redisconn.ErrClosed)

		require.NoError(t, conn.Close())
		require.NoError(t, d.Close())
		var unsent *redisconn.DialError
		_, err = conn.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
		require.ErrorAs(t, err, &unsent)
		require.ErrorIs(t, err, redisconn.ErrClosed)
		_, err = d.Pipeline(t.Context(), redisconn.Call{Command: "PING"})
		require.ErrorAs(t, err, &unsent)
		_, err = d.Dial(t.Context())
		require.ErrorIs(t, err, redisconn.ErrClosed)
		require.ErrorIs(t, d.Subscribe(t.Context(), key, nil, nil), redisconn.ErrClosed)
	})
}
