package objects

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// A reply that is lost at any step is asked for again, and what was done is not done twice.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	for name, match := range map[string]string{
		"of the first look":    redisconn.Load("object/touch").SHA,
		"of the first piece":   "$3\r\nSET\r\n",
		"of a later piece":     "SETRANGE",
		"of a transaction":     "EXEC\r\n",
		"of the last step":     redisconn.Load("object/keep").SHA,
		"of a reference":       redisconn.Load("object/refer").SHA,
		"of its end":           redisconn.Load("object/unrefer").SHA,
		"of the first reading": "STRLEN",
		"of a later reading":   "$7\r\n1048576\r\n",
		"of a removal":         redisconn.Load("object/drop").SHA,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				live(t, k, k.Store, content(rdb.ObjectPiece+1)) // Redis knows all scripts now
				proxy := redistest.NewProxy(t, k.server.Addr())
				swallowed := proxy.SwallowReply(match)
				live(t, k, k.open(proxy.DSN(), Options{}), content(2*rdb.ObjectPiece))
				select {
				case <-swallowed:
				default:
					t.Fatal("no reply was lost")
				}
			})
		})
	}
}

// live takes an object from its beginning to its end.
func live(t *testing.T, k *kit, s *Store, content []byte) {
	hash, err := s.Put(t.Context(), content)
	require.NoError(t, err)
	require.NoError(t, s.Refer(t.Context(), hash, "job1", "job2"))
	ids, err := s.References(t.Context(), hash)
	require.NoError(t, err)
	assert.Equal(t, []string{"job1", "job2"}, ids, "each counts once")
	got, err := s.Get(t.Context(), hash)
	require.NoError(t, err)
	assert.Equal(t, hash, Of(got))

	require.NoError(t, s.Unrefer(t.Context(), hash, "job1", "job2"))
	k.age(hash)
	_, err = s.Collect(t.Context())
	require.NoError(t, err)
	for _, key := range k.keys() {
		if key == "object:"+string(hash) || key == "objects" {
			t.Errorf("%s is left", key)
			continue
		}
		assert.Positive(t, k.do("PTTL", key), "what an upload left goes away by itself: %s", key)
	}
}

// The pieces of an uploader that died expire, and those of one that lives stay until the next piece.
func TestADiedUploaderLeavesNothing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		want := content(3 * rdb.ObjectPiece)
		u := rdb.Upload{SHA: string(Of(want)), Token: "died", Content: want, Life: time.Minute}
		for offset := 0; offset < 2*rdb.ObjectPiece; {
			next, state, err := k.redis.WritePiece(t.Context(), u, offset)
			require.NoError(t, err)
			require.Equal(t, rdb.ObjectKept, state)
			ttl := k.do("PTTL", "object:"+u.SHA+":upload:died").(int64)
			assert.Positive(t, ttl)
			assert.LessOrEqual(t, ttl, time.Minute.Milliseconds())
			offset = next
		}
		state, err := k.redis.Keep(t.Context(), u)
		require.NoError(t, err)
		assert.Equal(t, rdb.ObjectLost, state)
		_, err = k.Get(t.Context(), Of(want))
		var vanished *VanishedError
		require.ErrorAs(t, err, &vanished, "half an upload is no object")
		k.do("PEXPIRE", "object:"+u.SHA+":upload:died", "1") // the minute is over
		k.pass(10 * time.Millisecond)
		assert.Empty(t, k.keys())
	})
}

// An upload that expired in the middle must not become an object that begins with zeros.
func TestAnUploadThatExpiredIsBegunAnew(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		want := content(2 * rdb.ObjectPiece)
		u := rdb.Upload{SHA: string(Of(want)), Token: "slow", Content: want, Life: time.Minute}
		_, _, err := k.redis.WritePiece(t.Context(), u, 0)
		require.NoError(t, err)
		k.do("UNLINK", "object:"+u.SHA+":upload:slow")
		_, state, err := k.redis.WritePiece(t.Context(), u, rdb.ObjectPiece)
		require.NoError(t, err)
		assert.Equal(t, rdb.ObjectLost, state)

		k.do("UNLINK", "object:"+u.SHA+":upload:slow")
		state, err = k.redis.Keep(t.Context(), u)
		require.NoError(t, err)
		assert.Equal(t, rdb.ObjectLost, state)
		_, err = k.Get(t.Context(), Of(want))
		var vanished *VanishedError
		require.ErrorAs(t, err, &vanished)
	})
}

// expiring is a driver that lets the first upload expire before its second piece.
type expiring struct {
	redisconn.Driver
	expired string
}

func (e *expiring) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if len(calls) == 5 && e.expired == "" {
		e.expired = calls[2].Args[0].(string)
		if _, err := e.Driver.Pipeline(ctx, redisconn.Call{Command: "UNLINK", Args: []any{e.expired}}); err != nil {
			return nil, err
		}
	}
	return e.Driver.Pipeline(ctx, calls...)
}

func TestPutBeginsAnewWhenItsUploadExpires(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		driver := &expiring{Driver: k.driver}
		s, err := New(rdb.NewStore(driver, k.namespace), Options{})
		require.NoError(t, err)
		want := content(3 * rdb.ObjectPiece)
		hash, err := s.Put(t.Context(), want)
		require.NoError(t, err)
		assert.Contains(t, driver.expired, ":upload:")
		got, err := k.Get(t.Context(), hash)
		require.NoError(t, err)
		assert.Equal(t, hash, Of(got))
	})
}

// A full Redis refuses an upload by name, and nothing that frees memory.
func TestAFullRedisRefusesUploads(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Dedicated(t, "--maxmemory-policy", "noeviction")
		driver, err := redisconn.Open(server.DSN())
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, driver.Close()) })
		s, err := New(rdb.NewStore(driver, defaultNamespace), Options{Grace: time.Millisecond})
		require.NoError(t, err)
		there, err := s.Put(t.Context(), []byte("there"))
		require.NoError(t, err)
		require.NoError(t, s.Refer(t.Context(), there, "job"))
		_, err = redisconn.Do(t.Context(), driver,
			redisconn.Call{Command: "CONFIG", Args: []any{"SET", "maxmemory", "1mb"}})
		require.NoError(t, err)

		for name, size := range map[string]int{"one piece": 1000, "many pieces": 3 * rdb.ObjectPiece} {
			_, err = s.Put(t.Context(), content(size))
			var refused *redisconn.ServerError
			require.ErrorAs(t, err, &refused, name)
			assert.Equal(t, "OOM", refused.Code)
		}
		_, err = s.Put(t.Context(), []byte("there"))
		require.NoError(t, err, "what is there can be used")
		did, err := s.Collect(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, did.References, "and what nobody needs can go")
	})
}
