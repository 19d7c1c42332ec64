package rdb_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/rights"
)

// TestARegistrationAgreesOnTheLayout: it writes what this program needs where less is needed, and keeps what is more.
func TestARegistrationAgreesOnTheLayout(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for stored, want := range map[string]string{
			"": "8 3", "0 0": "8 3", "1 0": "8 3", "1 1": "8 3", "6 1": "8 3", "6 0": "8 3", "0 1": "8 3",
			"3 3": "8 3", "4 4": "8 4", "5 5": "8 5", "9 3": "9 3", "something else": "8 3", "7": "8 3",
		} {
			s.cmd(t, "DEL", "layout")
			if stored != "" {
				s.cmd(t, "SET", "layout", stored)
			}
			_, _, err := s.store.Worker("w1").Register(t.Context(), rdb.Registration{Life: time.Minute, Epoch: "e"})
			require.NoError(t, err)
			assert.Equal(t, want, string(s.cmd(t, "GET", "layout").([]byte)), "after %q", stored)
		}
		s.cmd(t, "DEL", "layout")
		s.cmd(t, "LPUSH", "layout", "of another type")
		_, _, err := s.store.Worker("w1").Register(t.Context(), rdb.Registration{Life: time.Minute, Epoch: "e"})
		require.NoError(t, err)
		assert.Equal(t, "8 3", string(s.cmd(t, "GET", "layout").([]byte)))
	})
}

// TestAProgramThatIsTooOldIsNoWorker, and nothing of it is written.
func TestAProgramThatIsTooOldIsNoWorker(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "SET", "layout", "9 9")
		before := s.dump(t)
		_, _, err := s.store.Worker("w1").Register(t.Context(), rdb.Registration{Life: time.Minute, Epoch: "e",
			Queues: []string{"a"}})
		var outdated *rdb.OutdatedError
		require.ErrorAs(t, err, &outdated)
		require.ErrorIs(t, err, rdb.ErrOutdated)
		assert.Equal(t, []int{9, 9}, []int{outdated.Layout, outdated.Oldest})
		assert.ErrorContains(t, err, "its layout is 9 and needs programs that know 9, this one knows 8: build it with")
		assert.Equal(t, before, s.dump(t))
	})
}

// TestALayoutIsOnlyEverRaised: a namespace that has flows is divided, or one that was divided gets a flow.
func TestALayoutIsOnlyEverRaised(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for _, step := range []struct {
			needs int
			want  string
		}{{rdb.OldestLayout, "8 3"}, {rdb.Flows, "8 4"}, {rdb.OldestLayout, "8 4"}, {rdb.SharedQueues, "8 5"},
			{rdb.Flows, "8 5"}, {rdb.AwayMembers, "8 8"}} {
			require.NoError(t, s.store.WriteLayout(t.Context(), rdb.Layout, step.needs))
			assert.Equal(t, step.want, string(s.cmd(t, "GET", "layout").([]byte)))
		}
	})
}

// asked is a Redis that tells which layout it has, and counts who asks for what.
type asked struct {
	redisconn.Driver
	layout           any
	version          string
	fails            error
	pipelines, calls int
}

func (a *asked) Pipeline(_ context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	a.pipelines++
	a.calls += len(calls)
	if a.fails != nil {
		return nil, a.fails
	}
	replies := make([]redisconn.Reply, len(calls))
	for i, call := range calls {
		switch call.Command {
		case "GET":
			replies[i].Value = a.layout
		case "INFO":
			replies[i].Value = a.version
		}
	}
	return replies, nil
}

// TestAGuardedStoreAsksOnceAMinute: in two round trips before the first call, of which nothing may be sent otherwise,
// and with a call later, which costs none.
func TestAGuardedStoreAsksOnceAMinute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &asked{fails: errors.New("away")}
		s := rdb.NewStore(a, "shop").Guarded(rights.Enqueuer, nil)
		use := func() error {
			_, err := s.Driver().Pipeline(t.Context(), redisconn.Call{Command: "PING"})
			return err
		}
		costs := func(pipelines, calls int) {
			t.Helper()
			assert.Equal(t, []int{pipelines, calls}, []int{a.pipelines, a.calls})
			a.pipelines, a.calls = 0, 0
		}
		require.EqualError(t, use(), "away")
		costs(1, 2)
		a.fails = nil
		require.NoError(t, use())
		costs(3, 4)
		for range 100 {
			require.NoError(t, use())
		}
		costs(100, 100)
		time.Sleep(2 * time.Minute)
		require.NoError(t, use())
		require.NoError(t, use())
		costs(2, 5)
		a.layout = []byte("9 9")
		time.Sleep(2 * time.Minute)
		require.NoError(t, use(), "it was sent along")
		costs(1, 4)
		require.ErrorIs(t, use(), rdb.ErrOutdated)
		costs(0, 0)
		a.layout = []byte("8 3")
		time.Sleep(2 * time.Minute)
		require.NoError(t, use(), "somebody has put it back")
		costs(3, 4)
		a.version = "redis_version:6.2.16\r\n"
		time.Sleep(2 * time.Minute)
		require.NoError(t, use(), "it was sent along")
		require.ErrorContains(t, use(), `the version of Redis is "6.2.16": use 7.0 or newer`)
		costs(1, 4)
	})
}
