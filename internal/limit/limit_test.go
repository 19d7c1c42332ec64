package limit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// kit is a namespace of its own.
type kit struct {
	*rdb.Store
	t         *testing.T
	server    redistest.Server
	namespace string
}

func newKit(t *testing.T, s redistest.Server) *kit {
	driver, err := redisconn.Open(s.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { _ = driver.Close() })
	namespace := redistest.Namespace(t)
	return &kit{Store: rdb.NewStore(driver, namespace), t: t, server: s, namespace: namespace}
}

func (k *kit) ctx() context.Context {
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	k.t.Cleanup(cancel)
	return ctx
}

func (k *kit) do(command, key string, args ...any) any {
	k.t.Helper()
	conn, err := redis.Dial("tcp", k.server.Addr())
	require.NoError(k.t, err)
	defer conn.Close()
	reply, err := conn.Do(command, append([]any{"{" + k.namespace + "}:" + key}, args...)...)
	require.NoError(k.t, err)
	return reply
}

// rule is the one that stands.
func (k *kit) rule(name string) rdb.Rule {
	k.t.Helper()
	texts, err := k.RulesOf(k.ctx(), []string{name})
	require.NoError(k.t, err)
	rule, err := rdb.ParseRule(texts[0])
	require.NoError(k.t, err)
	return rule
}

// plain is the failure of a test.
func plain(name string, err error) error { return fmt.Errorf("%s: %w", name, err) }

func TestALimitIsInForceOnceWhatRunsIsCounted(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		set := func(rule *rdb.Rule) { rule.Operator, rule.Limit = true, rdb.Limit{Concurrent: 3} }
		require.NoError(t, limit.One(k.ctx(), k.Store, "n", set))
		assert.Equal(t, rdb.Rule{Operator: true, Limit: rdb.Limit{Concurrent: 3}}, k.rule("n"),
			"nothing is left to count")
		require.NoError(t, limit.One(k.ctx(), k.Store, "n", func(rule *rdb.Rule) { *rule = rdb.Rule{} }))
		assert.Zero(t, k.rule("n"))
	})
}

func TestAChangeGoesRoundThoseThatFail(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("HSET", "limits", "broken", "no rule")
		paused := map[string]bool{}
		c := limit.Change{Store: k.Store, Failure: plain,
			Apply:   func(_ string, rule *rdb.Rule) { rule.Paused = true },
			Changed: func(name string, before rdb.Rule) { paused[name] = before.Paused }}
		err := c.Run(k.ctx(), []string{"a", "broken", "b"})
		var unreadable *rdb.RuleError
		require.ErrorAs(t, err, &unreadable)
		require.ErrorContains(t, err, "broken: ")
		assert.Equal(t, map[string]bool{"a": false, "b": false}, paused)
		assert.True(t, k.rule("b").Paused)
		require.NoError(t, c.Run(k.ctx(), nil))
	})
}

// Somebody else changes the rule each time between the two round trips of a change.
func TestARuleThatOthersChangeIsReadAgain(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		others := 2
		change := func(rule *rdb.Rule) {
			if others > 0 {
				others--
				theirs := *rule
				theirs.Service, theirs.Code = fmt.Sprint("service ", others),
					rdb.Limit{Jobs: 1, Per: time.Second, Burst: 1}
				k.do("HSET", "limits", "n", theirs.Text())
			}
			rule.Paused = true
		}
		require.NoError(t, limit.One(k.ctx(), k.Store, "n", change))
		assert.True(t, k.rule("n").Paused)
		assert.Equal(t, "service 0", k.rule("n").Service, "theirs stays")
		others = 1000
		require.ErrorContains(t, limit.One(k.ctx(), k.Store, "n", func(rule *rdb.Rule) {
			change(rule)
			rule.Limit = rdb.Limit{Jobs: others, Per: time.Second, Burst: 1}
			rule.Operator = true
		}), "changed by others")
	})
}

func TestALostConnectionLeavesAllUnsure(t *testing.T) {
	t.Parallel()
	driver, err := redisconn.Open("redis://127.0.0.1:1")
	require.NoError(t, err)
	defer driver.Close()
	c := limit.Change{Store: rdb.NewStore(driver, "n"), Apply: func(string, *rdb.Rule) {}, Failure: plain}
	err = c.Run(t.Context(), []string{"a", "b", "c"})
	require.ErrorContains(t, err, "a: ")
	require.ErrorContains(t, err, "(and so for 2 more)")
}

func TestALaterDeclarationReplacesAnother(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var replaced []string
		declare := func(service string, most int) {
			d := limit.Declaration{Store: k.Store, Service: service,
				Limit: func(string) rdb.Limit { return rdb.Limit{Concurrent: most} },
				Replaced: func(name string, now, before rdb.Rule) {
					replaced = append(replaced, fmt.Sprint(name, " ", before.Service, before.Code.Concurrent, " ",
						now.Service, now.Code.Concurrent))
				}}
			require.NoError(t, d.Declare(k.ctx(), []string{"n"}))
		}
		declare("shop", 5)
		declare("shop", 5)
		assert.Empty(t, replaced, "it is the same")
		declare("post", 6)
		assert.Equal(t, []string{"n shop5 post6"}, replaced)
		declare("shop", 0)
		assert.Equal(t, 6, k.rule("n").Concurrent, "it was declared by another service")
		require.NoError(t, limit.One(k.ctx(), k.Store, "n", func(rule *rdb.Rule) {
			rule.Operator, rule.Limit = true, rdb.Limit{Concurrent: 1}
		}))
		declare("post", 7)
		assert.Equal(t, []int{1, 7}, []int{k.rule("n").Concurrent, k.rule("n").Code.Concurrent}, "an operator's holds")
		declare("post", 0)
		assert.Zero(t, k.rule("n").Service)
	})
}

func TestWhatCannotBeReadMattersOnlyToThoseWhoDeclareALimit(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("HSET", "limits", "n", "of a later version")
		d := limit.Declaration{Store: k.Store, Service: "shop", Limit: func(string) rdb.Limit { return rdb.Limit{} }}
		require.NoError(t, d.Declare(k.ctx(), []string{"n"}))
		d.Limit = func(string) rdb.Limit { return rdb.Limit{Concurrent: 1} }
		require.ErrorContains(t, d.Declare(k.ctx(), []string{"n"}), `the limit of job "n" cannot be declared: `)
	})
}

func TestTheKeeperFinishesWhatWasBegun(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		begun := rdb.Rule{Limit: rdb.Limit{Concurrent: 3}, Operator: true, Filling: "died"}
		k.do("HSET", "limits", "n", begun.Text())
		k.do("HSET", "limits", "broken", "no rule")
		require.NoError(t, (&limit.Keeper{}).Keep(k.ctx(), k.Store))
		begun.Filling = ""
		assert.Equal(t, begun, k.rule("n"))
	})
}

func TestTheKeeperRecountsInSomeRounds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("ZADD", "queues", 0, "n")
		keeper := limit.Keeper{RecountEvery: 2}
		for _, left := range []int64{1, 0} {
			k.do("SADD", "running:n", "nobody holds it")
			require.NoError(t, keeper.Keep(k.ctx(), k.Store))
			assert.Equal(t, left, k.do("SCARD", "running:n"))
		}
	})
}

// What runs and has lost its place, as by a failover, is given it again; where no key has a rule nobody has places.
func TestTheKeeperCountsWhatRunsOfKeys(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.do("HSET", "claimed", "x1", "w 1 1 n")
		k.do("HSET", "keyed", "x1", "1 x")
		k.do("HSET", "turning", "n", 0)
		keeper := limit.Keeper{RecountEvery: 1}
		require.NoError(t, keeper.Keep(k.ctx(), k.Store))
		assert.Equal(t, int64(0), k.do("ZCARD", "holding"))
		require.NoError(t, limit.KeyRule(k.ctx(), k.Store, rdb.KeyRuleOf{Queue: "n"},
			func(rule *rdb.KeyRule) { rule.Concurrent = 1 }))
		assert.Equal(t, int64(1), k.do("ZCARD", "holding"))
		k.do("UNLINK", "holding")
		require.NoError(t, keeper.Keep(k.ctx(), k.Store))
		assert.Equal(t, int64(1), k.do("ZCARD", "holding"))
	})
}

func TestNothingIsChangedAfterTheEnd(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("it is over"))
		require.Error(t, limit.One(ctx, k.Store, "n", func(rule *rdb.Rule) { rule.Paused = true }))
		assert.Zero(t, k.rule("n"))
	})
}
