package rights_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
)

// gated is a Redis that answers questions for rights as told, and notes what else comes.
type gated struct {
	redisconn.Driver
	refuses  any   // the answer of the script
	away     error // of a pipeline
	answers  error // of a call that is no question
	dialled  int64 // connections
	asked    int
	executed []string
}

func (g *gated) Pipeline(_ context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if g.away != nil {
		return nil, g.away
	}
	replies := make([]redisconn.Reply, len(calls))
	for i, call := range calls {
		if call.Script != nil && call.Script.Name == "server/rights" {
			g.asked++
			replies[i].Value = g.refuses
			continue
		}
		g.executed = append(g.executed, call.Name())
		replies[i].Err = g.answers
	}
	return replies, nil
}

func (g *gated) Dialled() int64 { return g.dialled }

// TestAGuardAsksAgainWhenAConnectionIsNew: one that was idle is replaced without an error, and may lead to another
// Redis.
func TestAGuardAsksAgainWhenAConnectionIsNew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gated{dialled: 1}
		guard := rights.NewGuard(g, rights.Program{Namespace: "shop", Role: rights.Enqueuer})
		use := func() error {
			_, err := guard.Pipeline(t.Context(), redisconn.Call{Command: "GET"})
			return err
		}
		for range 3 {
			require.NoError(t, use())
		}
		assert.Equal(t, 1, g.asked)
		g.dialled++
		g.refuses = []any{int64(1), []byte("NOPERM")}
		require.NoError(t, use(), "the question goes along")
		assert.Equal(t, 2, g.asked)
		var refused *rights.RefusedError
		require.ErrorAs(t, use(), &refused)
		g.refuses = nil
		g.dialled++
		require.NoError(t, use(), "a refused one is asked before anything is sent")
		require.NoError(t, use())
		assert.Equal(t, 3, g.asked)
	})
}

// TestAGuardAsksBeforeTheFirstCallAndAfterATrouble: another Redis may answer then, and users of Redis are no data: a
// replica that takes over has its own.
func TestAGuardAsksBeforeTheFirstCallAndAfterATrouble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := &gated{refuses: []any{int64(1), []byte("ERR The user executing the script can't run this command")}}
		guard := rights.NewGuard(g, rights.Program{Namespace: "shop", Role: rights.Enqueuer})
		use := func() error {
			_, err := guard.Pipeline(t.Context(), redisconn.Call{Command: "GET"})
			return err
		}
		var refused *rights.RefusedError
		require.ErrorAs(t, use(), &refused)
		require.ErrorAs(t, use(), &refused)
		assert.Empty(t, g.executed, "nothing is sent")
		assert.Equal(t, 1, g.asked, "and nothing is asked at once again")
		g.refuses = nil
		time.Sleep(2 * time.Second)
		require.NoError(t, use(), "it was granted")
		require.NoError(t, use())
		assert.Equal(t, 2, g.asked)

		g.away = errors.New("away")
		require.ErrorIs(t, use(), g.away)
		g.away = nil
		require.NoError(t, use())
		assert.Equal(t, 3, g.asked, "it may be another Redis")

		g.answers = redisconn.ParseServerError("NOPERM this user has no permissions to run the 'get' command")
		require.NoError(t, use())
		g.refuses = []any{int64(1), []byte("NOPERM")}
		require.ErrorAs(t, use(), &refused, "a refused answer is looked into")
		assert.Equal(t, 4, g.asked)
	})
}

// TestAGuardAsksForTheRoleOfACall: who only reads needs no right to change anything.
func TestAGuardAsksForTheRoleOfACall(t *testing.T) {
	t.Parallel()
	g := &gated{}
	guard := rights.NewGuard(g, rights.Program{Namespace: "shop", Role: rights.Reader})
	use := func(call redisconn.Call) error {
		_, err := guard.Pipeline(t.Context(), call)
		return err
	}
	require.NoError(t, use(redisconn.Call{Command: "HGET"}))
	require.NoError(t, use(redisconn.Call{Script: redisconn.Load("inspect/page")}))
	assert.Equal(t, 1, g.asked)
	commands := rights.Operator.Question("shop").Args[1:]
	at := int64(slices.Index(commands, any("HSET")) + 1)
	require.Positive(t, at)
	g.refuses = []any{at, []byte("NOPERM this user has no permissions to run the 'hset' command")}
	move := redisconn.Call{Script: redisconn.Load("inspect/move")}
	require.ErrorContains(t, use(move), "role operator")
	require.ErrorContains(t, use(move), ": HSET: grant them by ACL SETUSER USER +hset")
	require.NoError(t, use(redisconn.Call{Command: "HGET"}), "it goes on reading")
	assert.Equal(t, 2, g.asked)
	assert.NotContains(t, g.executed, "inspect/move")
}

// TestAGuardTellsOnceWhatIsNotChecked: without INFO nobody knows the version.
func TestAGuardTellsOnceWhatIsNotChecked(t *testing.T) {
	t.Parallel()
	commands := rights.Enqueuer.Question("shop").Args[1:]
	at := int64(slices.Index(commands, any("INFO")) + 1)
	g := &gated{refuses: []any{at, []byte("NOPERM this user has no permissions to run the 'info' command")}}
	var told [][]string
	guard := rights.NewGuard(g, rights.Program{Namespace: "shop", Tell: func(lacks []string) {
		told = append(told, lacks)
	}})
	for range 3 {
		_, err := guard.Pipeline(t.Context(), redisconn.Call{Command: "GET"})
		require.NoError(t, err)
	}
	assert.Equal(t, [][]string{{"INFO"}}, told)
}
