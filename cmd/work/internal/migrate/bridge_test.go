package migrate_test

import (
	"crypto/sha1" // scripts are named by it
	"encoding/hex"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// eachSide runs a test for both libraries, on each Redis.
func eachSide(t *testing.T, test func(k *kit, s side, name string)) {
	for name, s := range sides {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, r redistest.Server) { test(newKit(t, r.DSN()), s, name) })
		})
	}
}

// fill enqueues jobs on the old side.
func (k *kit) fill(s side, jobs int) (ids []string) {
	for n := range jobs {
		id := fmt.Sprintf("%02d", n)
		s.add(k, id, "mail")
		ids = append(ids, id)
	}
	return ids
}

// TestItIsKilledAnywhere kills a bridge at each step. What it has stored has run and is forgotten when the next one
// comes, so nothing but the number of the call tells that.
func TestItIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"planned", "taken", "sent", "stalled", "closed"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			eachSide(t, func(k *kit, s side, _ string) {
				ids := k.fill(s, 12)
				p := k.pool("mail")
				bridge := func(at func(string)) *migrate.Bridge {
					o := short()
					o.At = at
					return migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), o)
				}
				require.True(k, killedAt(bridge, step))
				require.NoError(k, p.Drain(k.Context()), "what was stored has run")
				r, err := bridge(func(string) {}).Run(k.Context())
				require.NoError(k, err)
				assert.True(k, r.Complete)
				assert.Zero(k, r.Twins)
				assert.Zero(k, s.left(k, "mail"))
				k.once(p, ids)
			})
		})
	}
}

// TestALostReply lets each call be answered to nobody, once.
func TestALostReply(t *testing.T) {
	t.Parallel()
	for _, lost := range []string{"take", "send", "close"} {
		t.Run(lost, func(t *testing.T) {
			t.Parallel()
			eachSide(t, func(k *kit, s side, name string) {
				ids := k.fill(s, 12)
				p := k.pool("mail")
				proxy := redistest.NewProxy(k.T, k.addr())
				match := "outbox:migrate-"
				if lost != "send" {
					match = k.load(name + "/" + lost + ".lua")
				}
				old, err := redisconn.Open(proxy.DSN())
				require.NoError(k, err)
				defer old.Close()
				target := k.target(proxy.DSN())
				swallowed := proxy.SwallowReply(match)
				r, err := migrate.New(s.source(k, old), old, target, short()).Run(k.Context())
				require.NoError(k, err)
				<-swallowed
				assert.Equal(k, 12, r.Total)
				k.once(p, ids)
			})
		})
	}
}

// addr is that of the Redis.
func (k *kit) addr() string {
	var addr string
	_, err := fmt.Sscanf(k.dsn, "redis://%s", &addr)
	require.NoError(k, err)
	for i := range addr {
		if addr[i] == '/' {
			return addr[:i]
		}
	}
	return addr
}

// load makes a script known, so that it is sent by its hash, which it returns.
func (k *kit) load(path string) string {
	k.Helper()
	source, err := os.ReadFile(path)
	require.NoError(k, err)
	k.do("SCRIPT", "LOAD", source)
	sum := sha1.Sum(source) // see above
	return hex.EncodeToString(sum[:])
}

// TestSeveralBridgesDoNoHarm runs some at once.
func TestSeveralBridgesDoNoHarm(t *testing.T) {
	t.Parallel()
	eachSide(t, func(k *kit, s side, _ string) {
		ids := k.fill(s, 60)
		p := k.pool("mail")
		var bridges sync.WaitGroup
		for range 3 {
			bridges.Go(func() {
				_, err := migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), short()).Run(k.Context())
				assert.NoError(k, err)
			})
		}
		bridges.Wait()
		assert.Zero(k, s.left(k, "mail"))
		k.once(p, ids)
	})
}

// TestWhatCannotBeStoredIsPutBack has a queue here whose key is broken, beside one that is not.
func TestWhatCannotBeStoredIsPutBack(t *testing.T) {
	t.Parallel()
	eachSide(t, func(k *kit, s side, _ string) {
		for n := range 3 {
			s.add(k, fmt.Sprint("good", n), "mail")
			s.add(k, fmt.Sprint("bad", n), "stuck")
		}
		k.do("SET", "{"+k.namespace+"}:queue:stuck", "no list")
		p := k.pool("mail")
		r, err := migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), short()).Run(k.Context())
		require.NoError(k, err)
		assert.False(k, r.Complete)
		assert.Equal(k, 3, r.Total)
		assert.Equal(k, 3, r.Refused)
		assert.EqualValues(k, 3, s.left(k, "stuck"))
		k.once(p, []string{"good0", "good1", "good2"})
		k.do("DEL", "{"+k.namespace+"}:queue:stuck")
		r, err = migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), short()).Run(k.Context())
		require.NoError(k, err)
		assert.True(k, r.Complete)
		assert.Equal(k, 3, r.Total)
		for n := range 3 {
			info, err := k.looked.Job(k.Context(), s.id(k, fmt.Sprint("bad", n)))
			require.NoError(k, err)
			assert.Equal(k, work.StateQueued, info.State)
		}
	})
}

// TestARehearsalChangesNothing compares the old side.
func TestARehearsalChangesNothing(t *testing.T) {
	t.Parallel()
	eachSide(t, func(k *kit, s side, _ string) {
		k.fill(s, 12)
		o := short()
		o.DryRun = true
		r, err := migrate.New(s.source(k, k.old), k.old, k.target(k.dsn), o).Run(k.Context())
		require.NoError(k, err)
		assert.Equal(k, 12, r.Total)
		assert.EqualValues(k, 12, s.left(k, "mail"))
		_, err = k.looked.Job(k.Context(), s.id(k, "00"))
		require.ErrorIs(k, err, work.ErrNotFound)
	})
}
