package rdb_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// batchOf is a batch of job a1, which w1 took with fetch 1.
func batchOf(number int64, lines ...string) rdb.LogBatch {
	b := rdb.LogBatch{Claim: rdb.Claim{Queue: "a", Element: "1:a1"}, ID: "a1", Number: number}
	for _, line := range lines {
		b.Lines = append(b.Lines, []byte(line))
	}
	return b
}

func saveOf(number int64, state string) rdb.SavedState {
	return rdb.SavedState{Claim: rdb.Claim{Queue: "a", Element: "1:a1"}, ID: "a1", Number: number, JSON: []byte(state)}
}

// long lets w1 hold a1.
func long(t *testing.T, s *site) *rdb.Worker {
	t.Helper()
	s.enqueue(t, "a", "a1")
	w := s.worker(t, "w1", "a")
	s.take(t, w, 1, 1, "a")
	return w
}

func TestALogNumbersItsLinesAndCountsABatchOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := long(t, s)
		send := func(b rdb.LogBatch) {
			gone, err := sendLog(s.store, b)
			require.NoError(t, err)
			assert.False(t, gone)
		}
		send(batchOf(1, "one", "# two"))
		send(batchOf(2, "three"))
		// sent again, and one that comes late
		for _, b := range []rdb.LogBatch{batchOf(2, "three"), batchOf(1, "one", "# two")} {
			send(b)
		}
		want := []string{"1 one", "2 # two", "3 three"}
		stored := texts(t, s.cmd(t, "LRANGE", "log:a1", 0, -1))
		assert.Equal(t, append([]string{"# 4 19 2 w1 1"}, want...), stored)

		settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: []string{"1:a1"}}))
		gone, err := sendLog(s.store, batchOf(3, "late"))
		require.NoError(t, err)
		assert.True(t, gone)
		s.take(t, w, 2, 1, "a")
		again := batchOf(1, "four")
		again.Element = "2:a1"
		send(again) // numbers of batches begin anew with the claim
		entries, known, err := s.store.LogTail(t.Context(), "a1", 2)
		require.NoError(t, err)
		assert.True(t, known)
		assert.Equal(t, []rdb.LogEntry{{Number: 3, Line: []byte("three")}, {Number: 4, Line: []byte("four")}}, entries)
	})
}

func TestALogLetsGoOfItsOldestLines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ batches, lines, size, kept int }{
		"too many":                     {13, 100, 10, 1000},
		"too large":                    {9, 10, 4000, 65},
		"a batch larger than the log":  {2, 100, 4000, 65},
		"a line at a time, at the end": {1003, 1, 5, 1000},
		"as many as are kept":          {10, 100, 10, 1000},
		"one less":                     {1, 99, 10, 99},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				long(t, s)
				line := strings.Repeat("x", tt.size)
				for number := range tt.batches {
					b := batchOf(int64(number+1), line)
					for range tt.lines - 1 {
						b.Lines = append(b.Lines, []byte(line))
					}
					gone, err := sendLog(s.store, b)
					require.NoError(t, err)
					require.False(t, gone)
				}
				entries, _, err := s.store.LogTail(t.Context(), "a1", 2*rdb.MaxLogLines)
				require.NoError(t, err)
				assert.Len(t, entries, tt.kept)
				for i, entry := range entries {
					assert.Equal(t, int64(tt.batches*tt.lines-len(entries)+i+1), entry.Number)
				}
				bytes := 0
				for _, element := range texts(t, s.cmd(t, "LRANGE", "log:a1", 1, -1)) {
					bytes += len(element)
				}
				assert.LessOrEqual(t, bytes, rdb.MaxLogBytes)
				head := text(s.cmd(t, "LINDEX", "log:a1", 0))
				assert.Equal(t, fmt.Sprintf("# %d %d %d w1 1", tt.batches*tt.lines+1, bytes, tt.batches), head)
			})
		})
	}
}

func TestALogIsPublishedAsItIsWritten(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		long(t, s)
		ready, got := make(chan struct{}), make(chan []rdb.LogEntry, 1)
		ended := make(chan error)
		go func() {
			ended <- s.store.FollowLog(t.Context(), "a1", func() { close(ready) },
				func(entries []rdb.LogEntry) { got <- entries })
		}()
		select {
		case <-ready:
		case err := <-ended:
			require.NoError(t, err, "it ended before it began")
		}
		_, err := sendLog(s.store, batchOf(1, "one", "two"))
		require.NoError(t, err)
		assert.Equal(t, []rdb.LogEntry{{Number: 1, Line: []byte("one")}, {Number: 2, Line: []byte("two")}}, <-got)
		t.Cleanup(func() { require.NoError(t, <-ended) }) // its ctx has ended by then
	})
}

func TestAStateIsReplacedByNewerOnesOnly(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := long(t, s)
		save := func(state rdb.SavedState) bool {
			saved, err := w.SaveState(t.Context(), state)
			require.NoError(t, err)
			return saved
		}
		load := func() string {
			state, err := s.store.LoadState(t.Context(), "a1")
			require.NoError(t, err)
			return string(state)
		}
		assert.Empty(t, load())
		assert.True(t, save(saveOf(1, `{"a":1234567890123456789}`)))
		assert.True(t, save(saveOf(10, `"second"`)))
		assert.True(t, save(saveOf(9, `"sent before, comes late"`)))
		assert.True(t, save(saveOf(10, `"the same again, which says something else"`)))
		assert.JSONEq(t, `"second"`, load())
		assert.Positive(t, s.cmd(t, "PTTL", "state:a1"))

		settle(t, w, w.Release(rdb.Released{Queue: "a", Elements: []string{"1:a1"}}))
		assert.False(t, save(saveOf(11, `"of a claim that is gone"`)))
		s.take(t, w, 2, 1, "a")
		assert.False(t, save(saveOf(12, `"of a claim that is gone"`)))
		assert.JSONEq(t, `"second"`, load())
		next := saveOf(1, `"third"`)
		next.Element = "2:a1"
		assert.True(t, save(next))
		assert.JSONEq(t, `"third"`, load())
		assert.True(t, json.Valid([]byte(text(s.cmd(t, "GET", "state:a1")))),
			"what is stored can be read by any program")
	})
}

// A note that comes late must not take back what a newer one says, which both notes then do.
func TestALateNoteDoesNotReplaceAFullerOne(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := long(t, s)
		late, state := batchOf(1, "x"), saveOf(1, "7")
		late.Note = rdb.Note{Trail: []byte("log"), Fuller: []byte("log and state")}
		state.Note = rdb.Note{Trail: []byte("log and state"), Fuller: []byte("log and state")}
		_, err := w.SaveState(t.Context(), state)
		require.NoError(t, err)
		_, err = sendLog(s.store, late)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"a1": "log and state"}, s.hash(t, "trail"))
		s.cmd(t, "HSET", "trail", "a1", "old")
		late.Number = 2
		_, err = sendLog(s.store, late)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"a1": "log"}, s.hash(t, "trail"))
	})
}

func TestLongJobsNameTheKeyThatIsNotTheirs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		key     string
		prepare func(t *testing.T, s *site)
		send    func(s *site, w *rdb.Worker) error
	}{
		"a log of another type": {"log:a1", func(t *testing.T, s *site) { t.Helper(); s.cmd(t, "SET", "log:a1", "x") },
			nil},
		"a list of another": {"log:a1",
			func(t *testing.T, s *site) { t.Helper(); s.cmd(t, "RPUSH", "log:a1", "x") }, nil},
		"a trail": {"trail", func(t *testing.T, s *site) { t.Helper(); s.cmd(t, "SET", "trail", "x") },
			nil},
		"a state": {"state:a1", func(t *testing.T, s *site) { t.Helper(); s.cmd(t, "SADD", "state:a1", "x") },
			func(_ *site, w *rdb.Worker) error {
				_, err := w.SaveState(background, saveOf(1, "7"))
				return err
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := long(t, s)
				tt.prepare(t, s)
				before := s.dump(t)
				send := tt.send
				if send == nil {
					send = func(s *site, _ *rdb.Worker) error {
						_,
							err := sendLog(s.store, batchOf(1, "x"))
						return err
					}
				}
				var refused *redisconn.ServerError
				require.ErrorAs(t, send(s, w), &refused)
				assert.Equal(t, "BADKEY", refused.Code)
				assert.Contains(t, refused.Message, s.key(tt.key))
				assert.Equal(t, before, s.dump(t))
			})
		})
	}
	t.Run("a state that somebody else has written", func(t *testing.T) {
		t.Parallel()
		onEach(t, func(t *testing.T, s *site) {
			s.cmd(t, "SET", "state:a1", "x")
			_, err := s.store.LoadState(t.Context(), "a1")
			var strange *redisconn.UnexpectedReplyError
			require.ErrorAs(t, err, &strange)
		})
	})
}
