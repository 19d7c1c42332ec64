package rdb_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// A worker has each question once, until it was answered, and a hundred at the most.
func TestAWorkerIsAskedOnce(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		w := s.worker(t, "w1", "a")
		ask := func(token string) []rdb.Asked {
			require.NoError(t, s.store.PutQuestion(t.Context(), token, "text of "+token, time.Minute))
			asked, err := s.store.Ask(t.Context(), token, []string{"w1", "nobody"})
			require.NoError(t, err)
			return asked
		}
		tokens := func(lease time.Duration) string {
			return s.beat(t, w, rdb.Beat{Life: time.Minute, Epoch: "epoch-1", Lease: lease}).Asked
		}
		for _, token := range []string{"t1", "t2", "t1", "t2"} {
			assert.Equal(t, []rdb.Asked{rdb.AskedOne, rdb.AskedUnknown}, ask(token))
		}
		assert.Equal(t, "t1 t2", tokens(0))
		assert.Equal(t, "t1 t2", tokens(time.Minute), "until they are answered")
		text, err := s.store.Question(t.Context(), "t1")
		require.NoError(t, err)
		assert.Equal(t, "text of t1", text)
		for range 2 {
			require.NoError(t, s.store.Answer(t.Context(), "w1", "t1", "yes", time.Minute))
			assert.Equal(t, "t2", tokens(0))
		}
		answers, err := s.store.Answers(t.Context(), "t1", []string{"nobody", "w1"})
		require.NoError(t, err)
		assert.Equal(t, []string{"", "yes"}, answers)
		require.NoError(t, s.store.Answer(t.Context(), "w1", "t2", "", time.Minute))
		assert.Empty(t, tokens(0))
		assert.False(t, s.exists(t, "answer:t2:w1") || s.exists(t, "worker:nobody:info"))
		for _, key := range []string{"question:t1", "answer:t1:w1"} {
			assert.Positive(t, s.cmd(t, "PTTL", key), "%s does not stay", key)
		}

		for n := range 100 {
			require.Equal(t, rdb.AskedOne, ask(fmt.Sprint("n", n))[0])
		}
		assert.Equal(t, rdb.AskedFull, ask("one more")[0])
		assert.Equal(t, rdb.AskedOne, ask("n7")[0], "that it has")
	})
}
