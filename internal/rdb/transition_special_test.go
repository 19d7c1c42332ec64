package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// specialMembers are members with a lock, a time, and a key, and one with all.
func specialMembers() []flowdb.Member {
	members := []flowdb.Member{memberOf("a1", true), memberOf("a2", true), memberOf("b1", true), memberOf("b2", true)}
	lock := rdb.Lock{Digest: "d1", Kind: rdb.UntilEnded}
	members[0].Terms.Lock = lock
	members[1].Terms.In = time.Hour
	members[2].Terms.Turn = rdb.Turn{Key: "a key", Weight: 2}
	members[3].Terms = flowdb.Terms{Lock: rdb.Lock{Digest: "d2", Kind: rdb.ForATime, Life: time.Hour}, Due: 4e12 + 1,
		Turn: rdb.Turn{Key: "k"}}
	return members
}

// specialFilled stores a flow of these, and specialSealed seals it.
func specialFilled(t *testing.T, s *site) {
	t.Helper()
	waiting(t, s)
	answer, _, err := flowdb.Of(s.store).Store(background, aFlow, specialMembers(), nil)
	require.NoError(t, err)
	require.Equal(t, flowdb.Filling, answer)
}

func specialSealed(t *testing.T, s *site) {
	t.Helper()
	specialFilled(t, s)
	_, _, err := flowdb.Of(s.store).Seal(background, aFlow, 4, nil)
	require.NoError(t, err)
}

// specialFlowing are the transitions of special members.
func specialFlowing() []transition {
	return []transition{
		{name: "store special members", script: "flow/store", prepare: waiting, storing: true, timed: true,
			send: func(_ *site, store *rdb.Store) (any, error) {
				answer, _, err := flowdb.Of(store).Store(background, aFlow, specialMembers(), nil)
				return answer, err
			}},
		{name: "advance special members", script: "flow/advance", prepare: specialSealed, timed: true,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return flowdb.Of(store).Advance(background, "f", []string{"\x1ea", "\x1eb"})
			}},
		{name: "cancel special members", script: "flow/cancel", prepare: specialSealed, timed: true,
			send: func(_ *site, store *rdb.Store) (any, error) {
				return flowdb.Of(store).Cancel(background, "f", []string{"a1", "a2", "b1"}, false)
			}},
		{name: "add a special member", script: "flow/add", prepare: memberHeld, storing: true, timed: true,
			send: func(_ *site, store *rdb.Store) (any, error) {
				member := memberOf("b3", true)
				member.Terms = specialMembers()[0].Terms
				answer, _, err := flowdb.Of(store).Add(background,
					flowdb.Addition{Flow: "f", By: "a1", Member: member, After: []string{"a2"}})
				return answer, err
			}},
		{name: "check the locks of special members", script: "flow/reopen", reads: true,
			prepare: func(t *testing.T, s *site) {
				specialSealed(t, s)
				_, err := flowdb.Of(s.store).Cancel(background, "f", []string{"a1", "a2", "b1", "b2"}, true)
				require.NoError(t, err)
			}, send: func(_ *site, store *rdb.Store) (any, error) {
				return flowdb.Of(store).Reopen(background, "f", flowdb.ReopenCheck, []string{"a1\n0 f 0 d1 0 ", "a2"})
			}},
		{name: "free locks of members", script: "repair/free_waiting", prepare: func(t *testing.T, s *site) {
			specialFilled(t, s)
			s.cmd(t, "HSET", "unique", "d3", "gone/a 0 t")
		}, send: func(_ *site, store *rdb.Store) (any, error) {
			return nil, store.FreeWaiting(background, []rdb.WaitingLock{{Digest: "d1", Flow: "f", Member: "a1"},
				{Digest: "d3", Flow: "gone", Member: "a"}})
		}},
	}
}
