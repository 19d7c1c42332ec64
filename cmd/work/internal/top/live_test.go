package top

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/inspect"
)

func TestTopClerkReadsAndPauses(t *testing.T) {
	t.Parallel()
	s := clitest.OpenShop(t)
	clerk := &clerk{ctx: t.Context(), reader: &reader{inspector: s.Looked}}
	answer, is := clerk.read(false)().(readMsg)
	require.True(t, is)
	require.NoError(t, answer.err)
	assert.Equal(t, 3, answer.figures.Counts.Queued)
	assert.Nil(t, answer.figures.Errors, "they were not asked for")
	answer, _ = clerk.read(true)().(readMsg)
	assert.Len(t, answer.figures.Errors, 2)

	assert.Equal(t, pausedMsg{queue: "greet", to: true}, clerk.setPaused("greet", true)())
	assert.Equal(t, pausedMsg{queue: "greet", to: true}, clerk.setPaused("greet", true)(), "sent twice")
	assert.Equal(t, pausedMsg{queue: "mail"}, clerk.setPaused("mail", false)())
	paused, _, err := s.Looked.Paused(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"greet"}, paused)

	s.Server.Close()
	answer, _ = clerk.read(false)().(readMsg)
	require.Error(t, answer.err)
	failed, _ := clerk.setPaused("greet", false)().(pausedMsg)
	require.Error(t, failed.err)
}

func TestTopCountsProcessorsOfWorkersThatLive(t *testing.T) {
	t.Parallel()
	f := snapshot{Workers: sample().Workers}
	reader := &reader{}
	reader.pulse.since(noon)
	reader.pulse.mark(noon)
	reader.fill(&f, nil)
	assert.Equal(t, inspect.Processors{Busy: 2, Total: 40}, f.Processors)
}

// The inspector is closed after the clerk, so not under a reading.
func TestTopClerkWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	clerk := &clerk{ctx: ctx}
	begun, over := make(chan struct{}), false
	go clerk.does(func(ctx context.Context) tea.Msg {
		close(begun)
		<-ctx.Done()
		over = true
		return nil
	})()
	<-begun
	clerk.close(cancel)
	assert.True(t, over)
}

// A screen that is left while Redis does not answer is left at once.
func TestTopClerkLeavesWhileItIsAtIt(t *testing.T) {
	t.Parallel()
	s := clitest.OpenShop(t)
	ctx, cancel := context.WithCancel(context.Background())
	clerk := &clerk{ctx: ctx, reader: &reader{inspector: s.Looked}}
	asked, answers := make(chan struct{}, 1000), make(chan struct{})
	s.Server.Hook(func(string, []string) { asked <- struct{}{}; <-answers })
	ended := make(chan readMsg, 1)
	go func() {
		answer, _ := clerk.read(false)().(readMsg)
		ended <- answer
	}()
	<-asked
	closed := make(chan struct{})
	go func() { clerk.close(cancel); close(closed) }()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		assert.Fail(t, "it waits for a Redis that does not answer")
	}
	close(answers)
	select {
	case answer := <-ended:
		assert.ErrorIs(t, answer.err, context.Canceled)
	case <-time.After(time.Minute):
		assert.Fail(t, "the reading did not end")
	}
	s.Server.Hook(nil)
	assert.Nil(t, clerk.read(false)(), "after that nothing is asked for")
	assert.Nil(t, clerk.setPaused("greet", true)())
}

func TestTopIsOnlyLiveOnATerminal(t *testing.T) {
	t.Parallel()
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer null.Close() // nothing was read
	for _, a := range []*cli.App{
		{In: strings.NewReader(""), Out: &strings.Builder{}},
		{In: null, Out: &strings.Builder{}},
		{In: null, Out: null},
	} {
		assert.False(t, canLive(a.Console()))
	}
}

// What a reading asks of Redis does not grow with the jobs that wait, and a second one does not read the hour again.
func TestTopReadingCost(t *testing.T) {
	t.Parallel()
	s := clitest.OpenShop(t)
	reader := &reader{inspector: s.Looked}
	reading := func() (commands int) {
		asked := make(chan string, 10_000)
		s.Server.Hook(func(command string, _ []string) { asked <- command })
		defer s.Server.Hook(nil)
		_, err := reader.read(t.Context(), false)
		require.NoError(t, err)
		return len(asked)
	}
	first := reading()
	second := reading()
	assert.Equal(t, first-(shownMinutes-1), second, "minutes that are over are known")
	entries := make([]work.Entry, 2_000)
	for n := range entries {
		entries[n] = work.Entry{Name: "greet", Args: []any{n}}
	}
	_, err := s.Enq.EnqueueMany(t.Context(), entries)
	require.NoError(t, err)
	assert.Equal(t, second, reading(), "2,000 more jobs wait")
}
