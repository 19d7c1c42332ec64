package worqrdb_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb/worqrdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/lua"
)

func (r *recorder) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	for _, call := range calls {
		if call.Script != nil {
			r.calls = append(r.calls, call)
		}
	}
	return r.Driver.Pipeline(ctx, calls...)
}

// recorded sends a transition and returns its call.
func recorded(t *testing.T, s *site, tr transition) (redisconn.Call, any, error) {
	t.Helper()
	r := &recorder{Driver: s.driver}
	answer, err := tr.send(worqrdb.New(r, s.prefix))
	require.Len(t, r.calls, 1)
	return r.calls[0], answer, err
}

func TestEveryScriptIsATransition(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../lua/worqr/*.lua")
	require.NoError(t, err)
	known := map[string]bool{"beat": true}
	for _, tr := range transitions() {
		known[tr.script] = true
	}
	require.Len(t, files, len(known))
	for _, file := range files {
		assert.True(t, known[strings.TrimSuffix(filepath.Base(file), ".lua")], file)
	}
}

func TestTransitionsSentTwiceLeaveTheSameState(t *testing.T) {
	t.Parallel()
	for _, tr := range transitions() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				tr.prepare(s)
				before := s.state()
				first, err := tr.send(s.store)
				require.NoError(t, err)
				once := s.state()
				require.NotEqual(t, before, once, "it does something")
				second, err := tr.send(s.store)
				require.NoError(t, err)
				assert.Equal(t, once, s.state())
				if !tr.differs {
					assert.Equal(t, first, second)
				}
			})
		})
	}
}

func TestBeatRenewsTheTimerAndNothingElse(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("w")
		before := s.state()
		s.raw("PEXPIRE", s.key("workerTimers:w"), 60_000)
		alive, err := beat(t, s, w)
		require.NoError(t, err)
		assert.True(t, alive)
		assert.Greater(t, s.raw("PTTL", s.key("workerTimers:w")), int64(60_000))
		assert.Equal(t, before, s.state())
		w.Registration = "another"
		alive, err = beat(t, s, w)
		require.NoError(t, err)
		assert.False(t, alive, "somebody else has the id")
		w.Registration = "r-w"
		s.raw("DEL", s.key("workerTimers:w"))
		alive, err = beat(t, s, w)
		require.NoError(t, err)
		assert.False(t, alive)
		assert.NotContains(t, s.state(), ":workerTimers:w", "it is not revived")
	})
}

// A key of another type is named, and nothing is half done.
func TestAKeyOfAWrongTypeLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	for _, tr := range transitions() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				sample := s.under(s.prefix + "-sample")
				tr.prepare(sample)
				call, _, err := recorded(t, sample, tr)
				require.NoError(t, err)
				refused := 0
				for i, key := range call.Keys {
					at := s.under(fmt.Sprintf("%s-%d", s.prefix, i))
					tr.prepare(at)
					key = at.prefix + strings.TrimPrefix(key, sample.prefix)
					s.raw("DEL", key)
					s.raw("GEOADD", key, 1, 1, "x") // a zset, which few scripts want
					if strings.Contains(key, ":cancelledTasks:") {
						s.raw("DEL", key)
						s.raw("SET", key, "x")
					}
					before := at.state()
					if _, err := tr.send(at.store); err != nil {
						refused++
						assert.Equal(t, before, at.state(), "%s: %v", key, err)
					}
				}
				assert.Positive(t, refused)
			})
		})
	}
}

// A Redis that is full refuses to enqueue and nothing else.
func TestAFullRedisRefusesEnqueueAndNothingElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, redistest.Dedicated(t, "--maxmemory-policy", "noeviction").DSN())
	for i, tr := range transitions() {
		t.Run(tr.name, func(t *testing.T) { // one after the other: the memory is that of the whole server
			roomy, full := s.under(fmt.Sprint("roomy-", i)), s.under(fmt.Sprint("full-", i))
			tr.prepare(roomy)
			tr.prepare(full)
			want, err := tr.send(roomy.store)
			require.NoError(t, err)
			before := full.state()
			s.raw("SCRIPT", "FLUSH") // a server that was restarted knows no script
			s.raw("CONFIG", "SET", "maxmemory", "1mb")
			defer s.raw("CONFIG", "SET", "maxmemory", "0")
			_, err = redisconn.Do(t.Context(), s.driver, redisconn.Call{Command: "SET", Args: []any{"x", "y"}})
			require.ErrorContains(t, err, "OOM", "it is full")
			got, err := tr.send(full.store)
			if tr.script == "enqueue" {
				require.ErrorContains(t, err, "OOM")
				assert.Equal(t, before, full.state(), "nothing was stored")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, want, got)
			assert.Equal(t, roomy.state(), full.state())
		})
	}
	t.Run("beat", func(t *testing.T) {
		at := s.under("beat")
		w := at.worker("w")
		s.raw("CONFIG", "SET", "maxmemory", "1mb")
		defer s.raw("CONFIG", "SET", "maxmemory", "0")
		alive, err := beat(t, at, w)
		require.NoError(t, err)
		assert.True(t, alive)
	})
}

func TestCallersPassTheKeysThatTheHeadersName(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for i, tr := range transitions() {
			at := s.under(fmt.Sprintf("%s-%d", s.prefix, i))
			tr.prepare(at)
			call, _, err := recorded(t, at, tr)
			require.NoError(t, err)
			assert.Equal(t, "worqr/"+tr.script, call.Script.Name)
			wanted, args := headerOf(t, call.Script.Name, at.prefix, len(call.Keys))
			require.Len(t, call.Keys, len(wanted), tr.name)
			for k, key := range call.Keys {
				assert.Regexp(t, wanted[k], key, "%s KEYS[%d]", tr.name, k+1)
			}
			assert.GreaterOrEqual(t, len(call.Args), args, "%s ARGV", tr.name)
		}
	})
}

// On a cluster a key that a script was not given would be an error.
func TestScriptsTouchOnlyTheKeysThatTheyAreGiven(t *testing.T) {
	t.Parallel()
	for _, tr := range transitions() {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Embedded(t)
			s := newSite(t, server.DSN())
			tr.prepare(s)
			var mu sync.Mutex
			var touched []string
			server.Embedded().Hook(func(command string, args []string) {
				mu.Lock()
				defer mu.Unlock()
				switch command {
				case "EVAL", "EVALSHA", "TIME", "HSCAN", "MULTI", "EXEC":
				case "UNLINK":
					touched = append(touched, args...)
				default:
					touched = append(touched, args[0])
				}
			})
			call, _, err := recorded(t, s, tr)
			server.Embedded().Hook(nil)
			require.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			require.NotEmpty(t, touched)
			assert.Subset(t, call.Keys, touched)
		})
	}
}

var placeholder = regexp.MustCompile(`<[a-z0-9]+>`)

// headerOf reads the patterns of so many keys, and how many ARGV there are at the least.
func headerOf(t *testing.T, script, prefix string, keys int) (patterns []string, args int) {
	t.Helper()
	source, err := lua.Source(script)
	require.NoError(t, err)
	_, source, found := strings.Cut(source, "\n-- "+script+":")
	require.True(t, found)
	head, _, _ := strings.Cut(source, "-- RETURNS")
	head = head[strings.Index(head, "-- KEYS["):]
	named, rest, _ := strings.Cut(head, "-- ARGV[")
	named = strings.ReplaceAll(strings.ReplaceAll(named, "\n--", "\n"), "-- ", "")
	var group []string
	for _, part := range strings.Split(named, "KEYS[")[1:] {
		number, names, _ := strings.Cut(part, "] ")
		names, _, repeated := strings.Cut(names, " of each")
		for _, name := range strings.Split(strings.Trim(names, ", \n"), ", ") {
			pattern := "^" + regexp.QuoteMeta(prefix) + ":" + placeholder.ReplaceAllString(name, "[^:]+") + "$"
			if rest, channel := strings.CutPrefix(name, "channel:<q>:"); channel {
				pattern = "^" + regexp.QuoteMeta(prefix) + "_[^:]+_" + rest + "$"
			}
			if repeated || strings.HasSuffix(number, "..") {
				group = append(group, pattern)
			} else {
				patterns = append(patterns, pattern)
			}
		}
	}
	for len(group) > 0 && len(patterns) < keys {
		patterns = append(patterns, group...)
	}
	return patterns, 1 + strings.Count(rest, "ARGV[") - strings.Count(rest, "..]")
}

func TestStartedProcessesAreNumberedAcrossQueues(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		holding(s)
		w := worqrdb.Worker{ID: "w", Registration: "r-w", Life: time.Hour}
		taken, err := s.store.Start(background, w, "q", "q_d")
		require.NoError(t, err)
		assert.Equal(t, int64(4), taken.Sequence)
		held, err := s.store.Holdings(background, "w", "q")
		require.NoError(t, err)
		var ids []string
		for _, h := range held {
			ids = append(ids, h.ID)
		}
		assert.Equal(t, []string{"q_d", "q_c", "q_b", "q_a"}, ids, "newest first")
	})
}

// TestWhatTheReleasedProgramFailedIsDeadAndIsFound: it takes a worker out of workers, and removes workingQueues.
func TestWhatTheReleasedProgramFailedIsDeadAndIsFound(t *testing.T) {
	t.Parallel()
	for name, permanent := range map[string]bool{"with a timer": false, "permanent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				holding(s)
				dead, err := s.store.Dead(background)
				require.NoError(t, err)
				assert.Empty(t, dead)
				if permanent {
					s.raw("DEL", s.key("workerTimers:w"))
					s.raw("SREM", s.key("leasedWorkers"), "w")
				}
				s.raw("SREM", s.key("workers"), "w")
				s.raw("DEL", s.key("workingQueues:w"))
				w := worqrdb.Worker{ID: "w", Registration: "r-w", Life: time.Hour}
				alive, err := beat(t, s, w)
				require.NoError(t, err)
				assert.False(t, alive)
				said, err := s.store.Register(background, w)
				require.NoError(t, err)
				assert.Equal(t, worqrdb.Dead, said, "what it holds has to be put back first")
				dead, err = s.store.Dead(background)
				require.NoError(t, err)
				assert.Equal(t, []string{"w"}, dead)
				said, err = s.store.DeclareDead(background, "w", false)
				require.NoError(t, err)
				assert.Equal(t, worqrdb.Dead, said)
				queues, err := s.store.Serves(background, "w")
				require.NoError(t, err)
				assert.Equal(t, []string{"q"}, queues)
				said, err = s.store.Forget(background, "w", nil)
				require.NoError(t, err)
				assert.Equal(t, "again", said)
			})
		})
	}
}
