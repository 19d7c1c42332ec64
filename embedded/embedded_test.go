package embedded_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/embedded"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func open(t *testing.T, dsn string) redisconn.Driver {
	t.Helper()
	d, err := redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

func start(t *testing.T) *embedded.Server {
	t.Helper()
	s, err := embedded.Start()
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// run makes the calls and shows the last reply.
func run(t *testing.T, d redisconn.Driver, calls ...redisconn.Call) string {
	t.Helper()
	replies, err := d.Pipeline(t.Context(), calls...)
	require.NoError(t, err)
	if reply := replies[len(replies)-1]; reply.Err == nil {
		return show(reply.Value)
	}
	return show(replies[len(replies)-1].Err)
}

func TestClockIsHeldAndMoved(t *testing.T) {
	t.Parallel()
	s := start(t)
	d := open(t, s.DSN())
	now := lua(`return redis.call('TIME')[1]`)
	then := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	s.SetTime(then)
	assert.Equal(t, `"1893553445"`, run(t, d, now))
	run(t, d, cmd("SET", "k", "x", "PX", 60_000), cmd("HSET", "h", "f", "v"), cmd("PEXPIRE", "h", 61_000))
	s.Advance(60*time.Second - time.Millisecond)
	assert.Equal(t, `"1893553504"`, run(t, d, now))
	assert.Equal(t, "2", run(t, d, cmd("EXISTS", "k", "h")))
	assert.Equal(t, "1", run(t, d, cmd("PTTL", "k")))
	s.Advance(time.Millisecond)
	assert.Equal(t, "1", run(t, d, cmd("EXISTS", "k", "h")))
	assert.Equal(t, "1000", run(t, d, cmd("PTTL", "h")))

	s.SetTime(then)
	assert.Equal(t, `"1893553445"`, run(t, d, now))
	assert.Equal(t, "1000", run(t, d, cmd("PTTL", "h")), "going back keeps what is left")
	s.FastForward(time.Second)
	assert.Equal(t, "0", run(t, d, cmd("EXISTS", "h")))
	assert.Equal(t, `"1893553445"`, run(t, d, now), "TIME stays")
	assert.Equal(t, "nil", run(t, d, blpop("none", 20*time.Millisecond)), "how long BLPOP waits is real time")
}

func TestClockIsRealUntilHeld(t *testing.T) {
	t.Parallel()
	s := start(t)
	d := open(t, s.DSN())
	before := time.Now().Unix()
	seconds := run(t, d, lua(`return tonumber(redis.call('TIME')[1])`))
	got, err := strconv.ParseInt(seconds, 10, 64)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, got, before)
	assert.LessOrEqual(t, got, time.Now().Unix())

	s.Advance(time.Hour)
	held := run(t, d, cmd("TIME", ""))
	assert.Equal(t, held, run(t, d, blpop("none", 5*time.Millisecond), cmd("TIME", "")), "held from then on")
}

// In a script no key goes, however long it takes; it does between two of them.
func TestNoKeyExpiresInAScript(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, key := open(t, s.DSN()), "{"+redistest.Namespace(t)+"}:k"
		const script = `
			redis.call('SET', KEYS[1], 'x', 'PX', 1)
			local begun, calls = redis.call('TIME'), 0
			while redis.call('EXISTS', KEYS[1]) == 1 and calls < 5000 do calls = calls + 1 end
			local ended = redis.call('TIME')
			return {calls, begun[1] == ended[1] and begun[2] == ended[2]}`
		want := "[5000 nil]"
		if s.Embedded() != nil {
			want = "[5000 1]" // a difference: TIME stands still as well
		}
		assert.Equal(t, want, run(t, d, lua(script, key)))
		gone := func() bool { return run(t, d, cmd("EXISTS", key)) == "0" }
		assert.Eventually(t, gone, time.Minute, time.Millisecond)
	})
}

// A BLPOP is woken by a push in a script, also by one that fails later.
func TestPushInAScriptWakesABlockedPop(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, ns := open(t, s.DSN()), redistest.Namespace(t)
		key, begun := "{"+ns+"}:k", "{"+ns+"}:begun"
		for name, push := range map[string]string{
			"plain": `redis.call('LPUSH', KEYS[1], 'x')`,
			"fails": `redis.call('LPUSH', KEYS[1], 'x') error('later')`,
		} {
			popped := make(chan string, 1)
			go func() {
				replies, err := d.Pipeline(context.Background(), cmd("LPUSH", begun, "x"), blpop(key, 10*time.Second))
				if assert.NoError(t, err) {
					popped <- show(replies[1].Value)
				}
				close(popped)
			}()
			run(t, d, blpop(begun, 5*time.Second))
			run(t, d, lua(push, key))
			assert.Equal(t, `["`+key+`" "x"]`, <-popped, name)
		}
	})
}

func TestMemoryServersAreSharedByName(t *testing.T) {
	t.Parallel()
	name := strings.ToLower(redistest.Namespace(t))
	a, b, other := open(t, "memory://"+name), open(t, "memory://"+name+"/0?pool_size=2"),
		open(t, "memory://"+name+"-other")
	run(t, a, cmd("SET", "k", "here"))
	assert.Equal(t, `"here"`, run(t, b, cmd("GET", "k")))
	assert.Equal(t, "nil", run(t, other, cmd("GET", "k")))
	assert.Equal(t, "nil", run(t, open(t, "memory://"+name+"/1"), cmd("GET", "k")), "another database")

	for dsn, words := range map[string]string{
		"memory://" + name + "?pool_sise=1": "did you mean pool_size?",
		"memory://" + name + "/one":         `the path "one"`,
		"memory://:s3cr3t@" + name:          "has a user or password",
	} {
		_, err := redisconn.Open(dsn)
		require.ErrorContains(t, err, words)
		assert.NotContains(t, err.Error(), "s3cr3t")
	}
}

func TestHookSeesCommandsInsideScripts(t *testing.T) {
	t.Parallel()
	s := start(t)
	d := open(t, s.DSN())
	var mu sync.Mutex
	var seen []string
	s.Hook(func(command string, args []string) {
		mu.Lock()
		defer mu.Unlock()
		if command != "EVALSHA" && command != "EVAL" {
			seen = append(seen, command+" "+strings.Join(args, " "))
		}
	})
	run(t, d, cmd("set", "k", 1), lua(`redis.call('incr', KEYS[1]) return redis.pcall('GET', KEYS[1])`, "k"))
	s.Hook(nil)
	run(t, d, cmd("GET", "k"))
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(t, []string{"SET k 1", "INCR k", "GET k"}, seen)
}

func TestCloseDisconnectsAndForgets(t *testing.T) {
	t.Parallel()
	s := start(t)
	d := open(t, s.DSN())
	run(t, d, cmd("SET", "k", "x"))
	addr := s.Addr()
	waiting := make(chan error, 1)
	go func() {
		_, err := d.Pipeline(context.Background(), cmd("LPUSH", "begun", "x"), blpop("none", 30*time.Second))
		waiting <- err
	}()
	run(t, d, blpop("begun", 5*time.Second))
	s.Close()
	require.Error(t, <-waiting)
	s.Close()
	s.Hook(nil)
	assert.Equal(t, addr, s.Addr())
	_, err := d.Pipeline(t.Context(), cmd("PING", ""))
	require.Error(t, err)
	_, err = d.Pipeline(t.Context(), cmd("PING", ""))
	var unsent *redisconn.DialError
	require.ErrorAs(t, err, &unsent)
}

// A subscriber that does not read stops the embedded server altogether. Redis disconnects it after 32 MiB.
func TestDeafSubscriber(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d, channel := open(t, s.DSN()), redistest.Namespace(t)
		ctx, cancel := context.WithCancel(t.Context())
		deaf, ended := make(chan struct{}), make(chan error, 1)
		ready := make(chan struct{})
		go func() {
			ended <- d.SubscribeAll(ctx, []string{channel}, func() { close(ready) },
				func(string, []byte) { <-deaf })
		}()
		<-ready
		limited, stop := context.WithTimeout(t.Context(), 2*time.Second)
		defer stop()
		message := strings.Repeat("x", 256<<10)
		var err error
		for range 100 {
			if _, err = d.Pipeline(limited, cmd("PUBLISH", channel, message)); err != nil {
				break
			}
		}
		if s.Embedded() != nil {
			assert.ErrorIs(t, err, context.DeadlineExceeded, "the difference is gone")
			soon, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer stop()
			_, err = d.Pipeline(soon, cmd("GET", "k"))
			assert.ErrorIs(t, err, context.DeadlineExceeded, "the difference is gone: others are served")
		} else {
			assert.NoError(t, err)
		}
		cancel()
		close(deaf)
		require.NoError(t, <-ended)
	})
}
