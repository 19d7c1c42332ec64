package rdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// limiting are the transitions of rules, of commands to workers and of a purge.
func limiting() []transition {
	atMost := func(n int) string { return rdb.Rule{Limit: rdb.Limit{Concurrent: n}}.Text() }
	rated := func(jobs int) string {
		return rdb.Rule{Limit: rdb.Limit{Jobs: jobs, Per: time.Hour, Burst: 5}}.Text()
	}
	rule := func(name, before, after string, anew bool) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			return store.SetRule(background, name, before, after, anew)
		}
	}
	ruled := func(text string) func(t *testing.T, s *site) {
		return func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "limits", "a", text)
			s.cmd(t, "SADD", "running:a", "a1", "ghost")
			s.cmd(t, "UNLINK", "wake:a")
		}
	}
	said := func(t *testing.T, s *site) {
		ruled(atMost(1))(t, s)
		s.cmd(t, "HSET", "limits", "b", rdb.Rule{Paused: true}.Text(), "", rdb.Rule{Paused: true}.Text())
		s.cmd(t, "HSET", "pauses", "a", "5", "b", "8")
		s.cmd(t, "HSET", "hints", "1\x00a", "5 0")
	}
	say := func(pauses ...rdb.Pause) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			changed, err := store.SetPauses(background, pauses)
			if err != nil {
				return nil, err
			}
			return changed, changed[0].Err
		}
	}
	filling := rdb.Rule{Limit: rdb.Limit{Concurrent: 3}, Filling: "token"}.Text()
	command := func(c rdb.Command) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) { return store.SendCommand(background, "w1", c) }
	}
	return []transition{
		{name: "rule, the first", script: "limit/define", prepare: ruled(atMost(1)),
			send: rule("a", atMost(1), atMost(5), false)},
		{name: "rule, counted anew", script: "limit/define", prepare: ruled(""), send: rule("a", "", filling, true)},
		{name: "rule, none", script: "limit/define", prepare: ruled(atMost(1)), send: rule("a", atMost(1), "", false)},
		{name: "rule, all queues", script: "limit/define", prepare: holding,
			send: rule("", "", rdb.Rule{Paused: true}.Text(), false)},
		{name: "rule, another rate", script: "limit/define", timed: true, prepare: func(t *testing.T, s *site) {
			ruled(rated(10))(t, s)
			s.cmd(t, "SET", "rate:a", s.now(t).Add(time.Hour).UnixMilli(), "PX", 3_600_000)
		}, send: rule("a", rated(10), rated(20), false)},
		{name: "pause", script: "limit/pause", prepare: said,
			send: say(rdb.Pause{Name: "a", Version: 9, Paused: true})},
		{name: "pause, undivided", script: "limit/pause", prepare: ruled(atMost(1)),
			send: say(rdb.Pause{Name: "a", Paused: true}, rdb.Pause{Name: "b", Paused: true})},
		{name: "resume", script: "limit/pause", prepare: said, send: say(rdb.Pause{Name: "b", Version: 9},
			rdb.Pause{Name: "", Version: 9}, rdb.Pause{Name: "a", Version: 4})},
		{name: "forget", script: "limit/forget", prepare: said, send: func(_ *site, store *rdb.Store) (any, error) {
			return nil, store.ForgetPauses(background, []rdb.Pause{{Name: "a", Version: 5}})
		}},
		{name: "hint", script: "limit/hint", prepare: said, send: func(_ *site, store *rdb.Store) (any, error) {
			return nil, store.AddHints(background, hinted)
		}},
		{name: "hint, told", script: "limit/hint", prepare: func(t *testing.T, s *site) {
			require.NoError(t, s.store.AddHints(background, hinted))
		}, send: func(_ *site, store *rdb.Store) (any, error) { return nil, store.DropHints(background, hinted[:1]) }},
		{name: "fill", script: "limit/recount", prepare: ruled(filling),
			send: func(_ *site, store *rdb.Store) (any, error) {
				return nil, store.Fill(background, "a")
			}},
		{name: "fill, counted and gone", script: "limit/recount", prepare: ruled(atMost(2)),
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, err := store.Recount(background, "a")
				return nil, err
			}},
		{name: "command", script: "worker/command", prepare: holding, send: command(rdb.CommandQuiet)},
		{name: "command, at once", script: "worker/command", prepare: holding, send: command(rdb.CommandNow)},
		{name: "command, ask", script: "worker/command", prepare: holding,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return store.Ask(background, "t1", []string{"w1"})
			}},
		{name: "command, answered", script: "worker/command", storing: true, prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "worker:w1:info", "asked", "t0 t1 t2")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return nil, store.Answer(background, "w1", "t1", "x", time.Minute)
		}},
		{name: "command, resume", script: "worker/command", prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "worker:w1:info", "wanted", "pause")
		}, send: command(rdb.CommandResume)},
		{name: "command, ping", script: "worker/command", prepare: holding, send: command(rdb.CommandPing)},
		{name: "beat, which answers", script: "worker/beat", timed: true, prepare: func(t *testing.T, s *site) {
			holding(t, s)
			s.cmd(t, "HSET", "worker:w1:info", "ping", "5")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			pulse, err := store.Worker("w1").
				Beat(background, conn{store.Driver()}, rdb.Beat{Life: time.Minute, Epoch: "epoch-1"})
			return pulse.State, err
		}},
		{name: "purge", script: "inspect/purge", prepare: crowded, send: func(_ *site, store *rdb.Store) (any, error) {
			_, err := store.Purge(background, "a", 4, []string{"a4", "a5", "a1"})
			return nil, err
		}},
		{name: "purge, all there is", script: "inspect/purge", prepare: crowded,
			send: func(_ *site, store *rdb.Store) (any, error) {
				_, err := store.Purge(background, "a", 9, []string{"a1", "a3", "a4", "a5", "a6"})
				return nil, err
			}},
	}
}

// hinted are controls that partition 1 has to be told of.
var hinted = []rdb.Hint{{Partition: 1, Pause: rdb.Pause{Name: "a", Version: 9, Paused: true}},
	{Partition: 1, Pause: rdb.Pause{Name: "", Version: 9}}}

// crowded lets a3 to a6 wait, where a4 has a past and a1, which is held, stands once more.
func crowded(t *testing.T, s *site) {
	t.Helper()
	holding(t, s)
	s.enqueue(t, "a", "a4", "a5", "a6")
	s.cmd(t, "RPUSH", "queue:a", "a1")
	s.cmd(t, "HSET", "trail", "a4", "old")
	s.cmd(t, "HSET", "crashes", "a4", "w0")
	s.cmd(t, "SADD", "cancelled", "a3")
}

// oneClaim answers a walk over the claims with one of queue a, so that the script is called for it.
type oneClaim struct{ *recorder }

func (o oneClaim) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Command == "HSCAN" {
		return []redisconn.Reply{{Value: []any{[]byte("0"), []any{[]byte("x"), []byte("W 1 5 a")}}}}, nil
	}
	return o.recorder.Pipeline(ctx, calls...)
}

// callsOfLimits has every method of rules, commands and purges make its call.
func callsOfLimits(r *recorder) {
	store := rdb.NewStore(r, "ns")
	ignore := func(...any) {}
	ignore(store.SetRule(background, "a", "", "0", true))
	ignore(store.SetPauses(background, []rdb.Pause{{Name: "a"}, {Name: "b", Paused: true}}))
	ignore(store.AddHints(background, hinted))
	ignore(store.ForgetPauses(background, []rdb.Pause{{Name: "a", Version: 5}}))
	ignore(store.DropHints(background, hinted))
	ignore(store.SetKeyRule(background, rdb.KeyRuleOf{Queue: "a", Key: "x"}, "", "1 1 - - - - -"))
	ignore(store.GrantParked(background, "a", ""))
	ignore(rdb.NewStore(oneClaim{r}, "ns").SeatRunning(background))
	ignore(rdb.NewStore(oneClaim{r}, "ns").Fill(background, "a"))
	ignore(store.SendCommand(background, "W", rdb.CommandPause))
	ignore(store.Ask(background, "T", []string{"W"}))
	ignore(store.Purge(background, "a", 1, []string{"x"}))
}

// limit sets a limit as a caller does: with a count of what runs.
func (s *site) limit(t require.TestingT, name string, rule rdb.Rule) {
	before, err := s.store.RuleOf(background, name)
	require.NoError(t, err)
	for _, filling := range []string{"token", ""} {
		rule.Filling = filling
		set, err := s.store.SetRule(background, name, before, rule.Text(), filling != "")
		require.NoError(t, err)
		require.True(t, set)
		if before = rule.Text(); filling != "" {
			require.NoError(t, s.store.Fill(background, name))
		}
	}
}
