package rdb_test

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	redigo "github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// noted notes a settlement of no outcomes.
func noted(store *rdb.Store, in rdb.LaneCall) (rdb.Rewind, error) {
	_, _, answer, err := store.Worker("w1").SettleNoted(background, nil, nil, store.NoteSettled(in))
	if err == nil {
		err = answer.Err
	}
	return answer.Rewound, err
}

// noting are the transitions of the call that stands behind outcomes.
func noting() []transition {
	note := func(known int64) func(*site, *rdb.Store) (any, error) {
		return func(_ *site, store *rdb.Store) (any, error) {
			return noted(store, rdb.LaneCall{Lane: "l", Number: 7, Known: known})
		}
	}
	nothing := func(*testing.T, *site) {}
	witness := func(_ *site, store *rdb.Store) (any, error) {
		w, err := store.Witness(background)
		if err != nil {
			return nil, err
		}
		defer w.Close() //lint:ignore errcheck nothing of it is needed
		said, err := w.Ask(background, []string{"l", "other"}, 1, time.Millisecond)
		return said.Lanes, err
	}
	return []transition{
		{name: "lanes, witnessed", script: "worker/witness", reads: true, prepare: func(t *testing.T, s *site) {
			s.cmd(t, "HSET", "lanes", "l", "7 1732100000000")
		}, send: witness},
		{name: "settled, noted", script: "worker/note_settled", prepare: nothing, send: note(0)},
		{name: "settled, noted after a failover", script: "worker/note_settled", prepare: nothing, send: note(5)},
	}
}

// A lane that went back says so to the call that finds it, to that call again, and to those behind it until one of them
// says that it was heard.
func TestALaneThatWentBackIsNoticed(t *testing.T) {
	t.Parallel()
	later := job("a", "in")
	later.Place, later.When = rdb.In, 60_000
	for name, call := range map[string]func(store *rdb.Store, in rdb.LaneCall) (rdb.Rewind, error){
		"of one queue": func(store *rdb.Store, in rdb.LaneCall) (rdb.Rewind, error) {
			answer, err := store.EnqueueIn(background, in, []rdb.NewJob{job("a", "a1")})
			return answer.Rewound, err
		},
		"of several queues": func(store *rdb.Store, in rdb.LaneCall) (rdb.Rewind, error) {
			answer, err := store.EnqueueIn(background, in, []rdb.NewJob{job("a", "a1"), job("b", "b1")})
			return answer.Rewound, err
		},
		"of all kinds": func(store *rdb.Store, in rdb.LaneCall) (rdb.Rewind, error) {
			answer, err := store.EnqueueIn(background, in, []rdb.NewJob{job("a", "a1"), job("b", "b1"), later})
			return answer.Rewound, err
		},
		"a settlement": noted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				ask := func(number, known int64) rdb.Rewind {
					found, err := call(s.store, rdb.LaneCall{Lane: "l", Number: number, Known: known})
					require.NoError(t, err)
					return found
				}
				none := rdb.Rewind{}
				assert.Equal(t, none, ask(1, 0), "the first one")
				assert.Equal(t, none, ask(2, 1))
				assert.Equal(t, none, ask(4, 2), "number 3 was never sent")
				assert.Equal(t, none, ask(5, 2), "number 4 was not answered")
				before := s.hash(t, "lanes")["l"]
				assert.Equal(t, none, ask(6, 5))
				assert.Equal(t, none, ask(7, 6))
				s.cmd(t, "HSET", "lanes", "l", before)
				gone := rdb.Rewind{Had: 5, At: 8}
				assert.Equal(t, gone, ask(8, 7))
				assert.Equal(t, gone, ask(8, 7), "it is said again to the same call")
				assert.Equal(t, gone, ask(9, 7), "and to the next one, while nobody has heard it")
				states, err := s.store.Lanes(t.Context(), []string{"l", "other"})
				require.NoError(t, err)
				assert.Equal(t, []rdb.LaneState{{Number: 9, Rewound: gone}, {}}, states)
				for number, has := range map[int64]bool{5: true, 6: false, 7: false, 8: true, 9: true, 10: false} {
					assert.Equal(t, has, states[0].Has(number), number)
				}
				assert.Equal(t, none, ask(10, 9))
				s.cmd(t, "HDEL", "lanes", "l")
				assert.Equal(t, rdb.Rewind{At: 11}, ask(11, 10), "nothing of the lane is left")
				s.cmd(t, "HDEL", "lanes", "l")
				assert.Equal(t, none, ask(12, 0), "it was silent so long that a janitor may have removed it")
			})
		})
	}
}

// What stands behind a rewind in the reply is read as ever.
func TestAnEnqueueThatFindsARewindStoresItsJobs(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		chosen := job("a", "mine")
		chosen.Chosen = true
		answer, err := s.store.EnqueueIn(t.Context(), rdb.LaneCall{Lane: "l", Number: 3, Known: 2},
			[]rdb.NewJob{chosen, job("b", "b1"), chosen})
		require.NoError(t, err)
		assert.Equal(t, rdb.Rewind{At: 3}, answer.Rewound)
		assert.Equal(t, map[int]rdb.Problem{2: rdb.Duplicate}, answer.Problems)
		assert.Equal(t, []string{"mine"}, s.list(t, "queue:a"))
	})
}

// A note must not come before the outcomes that it is about, also where their script has to be sent again.
func TestASettlementIsNotedBehindWhatIsSentAgain(t *testing.T) {
	t.Parallel()
	outcome, note := rdb.NewStore(nil, "ns").Worker("w").Complete(nil),
		rdb.NewStore(nil, "ns").NoteSettled(rdb.LaneCall{Lane: "l", Number: 1})
	unknown := redisconn.Reply{Err: &redisconn.ServerError{Code: "NOSCRIPT", Message: "NOSCRIPT"}}
	assert.Equal(t, []int{0, 1}, redisconn.NotRun([]redisconn.Call{outcome, note}, []redisconn.Reply{unknown, {}}))
	assert.Empty(t, redisconn.NotRun([]redisconn.Call{outcome, note}, []redisconn.Reply{{}, {}}))
}

// Outcomes that are sent again are written behind a note that was written already: so that is written again as well.
func TestASettlementThatIsNotedAgainIsWrittenAgain(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		for _, lane := range []string{"z", "a", "z"} {
			_, err := noted(s.store, rdb.LaneCall{Lane: lane, Number: 1})
			require.NoError(t, err)
		}
		order := s.cmd(t, "HKEYS", "lanes").([]any)
		assert.Equal(t, "z", text(order[len(order)-1]), "a small hash is in the order in which it was written")
	})
}

// A WAIT of Redis 7.2 and newer is about the last command of its own connection that was replicated. So a witness has
// to write something: this fails on such a server where it does not, and says so on any other by the offset.
func TestAWitnessWaitsForWhatOthersWrote(t *testing.T) {
	t.Parallel()
	primary, replica := redistest.Dedicated(t, "--repl-diskless-sync-delay", "0"), redistest.Dedicated(t)
	s := newSite(t, primary.DSN(), nil)
	host, port, err := net.SplitHostPort(primary.Addr())
	require.NoError(t, err)
	at, err := redigo.Dial("tcp", primary.Addr())
	require.NoError(t, err)
	defer at.Close() //lint:ignore errcheck the end of the test
	on, err := redigo.Dial("tcp", replica.Addr())
	require.NoError(t, err)
	defer on.Close() //lint:ignore errcheck the end of the test
	_, err = on.Do("REPLICAOF", host, port)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		info, err := redigo.String(on.Do("INFO", "replication"))
		return err == nil && strings.Contains(info, "master_link_status:up")
	}, time.Minute, 10*time.Millisecond)

	enqueue := func(number int64) {
		_, err := s.store.EnqueueIn(t.Context(), rdb.LaneCall{Lane: "l", Number: number}, []rdb.NewJob{job("a", "a1")})
		require.NoError(t, err)
	}
	enqueue(1)
	witness, err := s.store.Witness(t.Context())
	require.NoError(t, err)
	defer witness.Close() //lint:ignore errcheck the end of the test
	said, err := witness.Ask(t.Context(), []string{"l"}, 1, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, rdb.Testimony{Lanes: []rdb.LaneState{{Number: 1}}, Confirmed: 1}, said)

	require.NoError(t, replica.Pause())
	enqueue(2)
	offset := func() int {
		info, err := redigo.String(at.Do("INFO", "replication"))
		require.NoError(t, err)
		_, after, _ := strings.Cut(info, "master_repl_offset:")
		at, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(after, "\n", 2)[0]))
		require.NoError(t, err)
		return at
	}
	before := offset()
	said, err = witness.Ask(t.Context(), []string{"l"}, 1, 50*time.Millisecond)
	require.NoError(t, err)
	assert.Equal(t, rdb.Testimony{Lanes: []rdb.LaneState{{Number: 2}}}, said)
	assert.Greater(t, offset(), before+len("*3 PEXPIREAT"), "it has written: more than a ping of the primary")
	require.NoError(t, replica.Resume())
	said, err = witness.Ask(t.Context(), []string{"l"}, 1, time.Minute)
	require.NoError(t, err)
	assert.Equal(t, 1, said.Confirmed)
	assert.Equal(t, int64(-1), s.cmd(t, "PTTL", "lanes"))
}
