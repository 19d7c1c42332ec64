package history_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/history"
	"github.com/265d0351/work/internal/redisclock"
	"github.com/265d0351/work/internal/redisconn"
)

// TestACallIsSentAgainAsItWas: what was counted since waits for the next one.
func TestACallIsSentAgainAsItWas(t *testing.T) {
	t.Parallel()
	k := newKit(&redisclock.Clock{})
	count := func() { k.Count([]history.Attempt{done("a", 0)}) }
	count()
	first := k.Calls(true)
	count()
	again := k.Calls(true)
	assert.Equal(t, first[0].Args[8:], again[0].Args[8:], "the same sums")
	assert.Equal(t, first[0].Args[1], again[0].Args[1], "under the same number")

	refusal := &redisconn.ServerError{Code: "LOADING"}
	k.Answered([]redisconn.Reply{{Err: refusal}})
	require.ErrorIs(t, k.trouble, refusal)
	then := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	k.answer(fmt.Sprint(then.UnixMilli(), " elsewhere"))
	require.NoError(t, k.trouble)
	again = k.Calls(true)
	assert.Equal(t, first[0].Args[8:], again[0].Args[8:])
	assert.Equal(t, first[0].Args[1], again[0].Args[1])
	assert.Equal(t, then, tallyOf(again[0]).At, "for the minute that it is")
	_, any := k.announced()
	assert.False(t, any, "Redis has taken nothing yet")

	k.answer(took)
	next := k.Calls(true)
	require.Len(t, next, 1)
	assert.NotEqual(t, first[0].Args[1], next[0].Args[1])
	k.answer(took)
	assert.Empty(t, k.Calls(true), "nothing is sent when nothing was counted")
	require.NoError(t, k.trouble)
	told, _ := k.announced()
	assert.Equal(t, event.HistoryTold{Worker: "w", Names: 2, Every: time.Second}, told)
}

// TestAnAnswerToNothingIsWell: a heartbeat that takes nothing along has no trouble with history.
func TestAnAnswerToNothingIsWell(t *testing.T) {
	t.Parallel()
	k := newKit(&redisclock.Clock{})
	k.trouble = errors.New("from before")
	require.Empty(t, k.Calls(false))
	k.Answered(nil)
	assert.NoError(t, k.trouble)
}
