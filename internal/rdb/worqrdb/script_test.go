package worqrdb_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb/worqrdb"
)

// TestALateCallOfALaneIsRefused: it was given up, and the lane has gone on.
func TestALateCallOfALaneIsRefused(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		send := func(number int64, task string) (late bool) {
			_, late, err := s.store.Enqueue(background, worqrdb.Enqueued{Lane: "l", Number: number, Life: time.Hour,
				Queue: "q", Tasks: bytesOf(task)})
			require.NoError(t, err)
			return late
		}
		assert.False(t, send(9, "nine"))
		assert.False(t, send(10, "ten"))
		before := s.state()
		assert.True(t, send(9, "nine"), "9 is before 10 as a number")
		assert.Equal(t, before, s.state())
	})
}

// TestOnlyTheRegistrationThatStandsCounts: a worker that was failed is not the one that has its id now.
func TestOnlyTheRegistrationThatStandsCounts(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker("w")
		s.enqueue(false, "a")
		former := w
		former.Registration = "former"
		before := s.state()
		taken, err := s.store.Start(background, former, "q", "q_1")
		require.NoError(t, err)
		assert.Equal(t, worqrdb.Lapsed, taken.State)
		_, lapsed, err := s.store.Serve(background, former, "r")
		require.NoError(t, err)
		assert.True(t, lapsed)
		s.raw("DEL", s.key("workerTimers:w"))
		_, lapsed, err = s.store.Serve(background, w, "r")
		require.NoError(t, err)
		assert.True(t, lapsed, "its timer has lapsed")
		delete(before, ":workerTimers:w")
		assert.Equal(t, before, s.state())
	})
}

func TestMarksOfCancellationsAreBounded(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		key := s.key("cancelledTasks:q")
		for from := range 11 {
			args := []any{key}
			for i := range 1000 {
				args = append(args, from, string(rune('a'+from))+time.Duration(i).String())
			}
			s.raw("ZADD", args...)
		}
		s.raw("SET", s.key("sequence"), 500)
		_, err := s.store.Cancel(background, "q", []byte("a"), time.Hour)
		require.NoError(t, err)
		assert.Equal(t, int64(10_000), s.raw("ZCARD", key))
		assert.Equal(t, "500", text(s.raw("ZSCORE", key, worqrdb.Digest([]byte("a")))))
		left := s.raw("PTTL", key).(int64)
		assert.Positive(t, left)
		assert.LessOrEqual(t, left, time.Hour.Milliseconds())
	})
}

// TestALockIsFreedByItsOwnerOnly: another enqueue has taken it meanwhile.
func TestALockIsFreedByItsOwnerOnly(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		holding(s)
		s.enqueue(true, "u")
		locks := map[string]string{"b": "", "u": ""}
		for task := range locks {
			s.raw("SET", s.key("uniqueTasks:q:"+worqrdb.Digest([]byte(task))), "somebody else")
		}
		finished, err := s.store.Finish(background, ours, []byte("b"), nil)
		require.NoError(t, err)
		assert.True(t, finished)
		_, locked, err := s.store.Delete(background, "q", []string{worqrdb.Digest([]byte("u"))})
		require.NoError(t, err)
		assert.False(t, locked)
		for task := range locks {
			assert.Equal(t, "somebody else", text(s.raw("GET", s.key("uniqueTasks:q:"+worqrdb.Digest([]byte(task))))))
		}
	})
}

// TestForgetLeavesNothingThatNobodyWouldFind.
func TestForgetLeavesNothingThatNobodyWouldFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(s *site)
		queues []string
		says   string
	}{
		"holds tasks": {func(*site) {}, []string{"q"}, "again"},
		"serves more queues": {func(s *site) { s.raw("SADD", s.key("workingQueues:w"), "r") }, []string{"q"},
			"again"},
		"is noted for more queues": {func(s *site) { s.raw("SADD", s.key("servedQueues:w"), "r") }, []string{"q"},
			"again"},
		"serves another queue":    {func(*site) {}, []string{"r"}, "again"},
		"serves none as was read": {func(*site) {}, nil, "again"},
		"alive": {func(s *site) { s.raw("SET", s.key("workerTimers:w"), "RUN") }, []string{"q"},
			worqrdb.Alive},
		"permanent": {func(s *site) { s.raw("SREM", s.key("leasedWorkers"), "w") }, []string{"q"},
			worqrdb.Alive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				holding(s)
				s.raw("DEL", s.key("workerTimers:w"))
				c.change(s)
				before := s.state()
				said, err := s.store.Forget(background, "w", c.queues)
				require.NoError(t, err)
				assert.Equal(t, c.says, said)
				assert.Equal(t, before, s.state())
			})
		})
	}
}

// TestTasksOfAWorkerThatIsAliveStayWhereTheyAre, whoever believes that it is dead.
func TestTasksOfAWorkerThatIsAliveStayWhereTheyAre(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		holding(s)
		before := s.state()
		said, err := s.store.DeclareDead(background, "w", false)
		require.NoError(t, err)
		assert.Equal(t, worqrdb.Alive, said)
		moved, err := s.store.Requeue(background, worqrdb.Requeue{Worker: "w", Queue: "q", Processes: []string{"q_a"},
			Dead: true})
		require.NoError(t, err)
		assert.Equal(t, worqrdb.Requeued{Alive: true}, moved)
		left, err := s.store.Leave(background, "w", "q")
		require.NoError(t, err)
		assert.False(t, left, "it holds tasks")
		assert.Equal(t, before, s.state())
	})
}

// TestDropEndsWhatWasCancelledAndNothingElse: without a mark only if somebody says so, and never what was started
// later.
func TestDropEndsWhatWasCancelledAndNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mark     string // sequence of the cancellation; q_b is the second that was started
		unmarked bool
		dropped  bool
	}{
		"not cancelled":                     {"", false, false},
		"cancelled by the released program": {"", true, true},
		"cancelled when it ran":             {"2", false, true},
		"heard of too":                      {"3", true, true},
		"started after that":                {"1", false, false},
		"an old message":                    {"1", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				holding(s)
				if c.mark != "" {
					s.raw("ZADD", s.key("cancelledTasks:q"), c.mark, worqrdb.Digest([]byte("b")))
				}
				said, err := s.store.EndCancelled(background, ours, []byte("b"), c.unmarked)
				require.NoError(t, err)
				assert.Equal(t, map[bool]string{true: worqrdb.Ended, false: worqrdb.Kept}[c.dropped], said)
				assert.Equal(t, boolToInt(!c.dropped), s.raw("EXISTS", s.key("processes:q_b")))
			})
		})
	}
}

// TestTheCopyThatTheReleasedProgramPutBackIsRemoved when its task was cancelled, and no other one: a unique one that
// came since, and its place among the copies, stay.
func TestTheCopyThatTheReleasedProgramPutBackIsRemoved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(s *site) // q_b is there; then it has to be taken away, and be cancelled or not
		said    string
		queue   string // from the head
		waiting string // which copy is the unique one
	}{
		"not cancelled": {func(s *site) { s.takeAway("q_b") }, worqrdb.Gone, "b\nd", ""},
		"cancelled":     {func(s *site) { s.cancelB(); s.takeAway("q_b") }, worqrdb.Ended, "d", ""},
		"taken by somebody": {func(s *site) { s.cancelB(); s.takeAway("q_b"); s.raw("LPOP", s.key("queues:q")) },
			worqrdb.Gone, "d", ""},
		"put back before that": {func(s *site) { s.takeAway("q_b"); s.cancelB() }, worqrdb.Gone, "d", ""},
		"and a unique one came since": {func(s *site) { s.takeAway("q_b"); s.cancelB(); s.uniqueB() },
			worqrdb.Gone, "b\nd", "0"},
		"a unique one behind it": {func(s *site) { s.cancelB(); s.takeAway("q_b"); s.uniqueB() },
			worqrdb.Ended, "b\nd", "0"},
		"a unique one before it": {func(s *site) { s.cancelB(); s.uniqueB(); s.takeAway("q_b") },
			worqrdb.Ended, "b\nd", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				holding(s)
				c.prepare(s)
				said, err := s.store.EndCancelled(background, ours, []byte("b"), false)
				require.NoError(t, err)
				assert.Equal(t, c.said, said)
				state := s.state()
				assert.Equal(t, c.queue, state[":queues:q"])
				assert.NotContains(t, state[":startedProcesses:w:q"], "q_b")
				assert.NotContains(t, state[":workingProcesses:w:q"], "q_b")
				_, place, _ := strings.Cut(state[":uniqueWaiting:q"], "=")
				before, _, _ := strings.Cut(place, " ")
				assert.Equal(t, c.waiting, before)
			})
		})
	}
}

func (s *site) cancelB() {
	s.t.Helper()
	_, err := s.store.Cancel(background, "q", []byte("b"), time.Hour)
	require.NoError(s.t, err)
}

// uniqueB enqueues the task of q_b again, by a lane of its own.
func (s *site) uniqueB() {
	s.t.Helper()
	put, _, err := s.store.Enqueue(background, worqrdb.Enqueued{Lane: "again", Number: 1, Life: time.Hour, Queue: "q",
		Tasks: bytesOf("b"), Unique: true})
	require.NoError(s.t, err)
	require.Equal(s.t, []bool{true}, put)
}

func boolToInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
