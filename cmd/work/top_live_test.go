package main

import (
	"context"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTopClerkReadsAndPauses(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	clerk := &topClerk{ctx: t.Context(), reader: &topReader{inspector: s.looked}}
	answer, is := clerk.read(false)().(topRead)
	require.True(t, is)
	require.NoError(t, answer.err)
	assert.Equal(t, 3, answer.figures.Counts.Queued)
	assert.Nil(t, answer.figures.Errors, "they were not asked for")
	answer, _ = clerk.read(true)().(topRead)
	assert.Len(t, answer.figures.Errors, 2)

	assert.Equal(t, topPaused{queue: "greet", to: true}, clerk.setPaused("greet", true)())
	assert.Equal(t, topPaused{queue: "greet", to: true}, clerk.setPaused("greet", true)(), "sent twice")
	assert.Equal(t, topPaused{queue: "mail"}, clerk.setPaused("mail", false)())
	paused, _, err := s.looked.Paused(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"greet"}, paused)

	s.server.Close()
	answer, _ = clerk.read(false)().(topRead)
	require.Error(t, answer.err)
	failed, _ := clerk.setPaused("greet", false)().(topPaused)
	require.Error(t, failed.err)
}

func TestTopCountsProcessorsOfWorkersThatLive(t *testing.T) {
	t.Parallel()
	f := topFigures{Workers: topSample().Workers}
	reader := &topReader{}
	reader.pulse.since(topNoon)
	reader.pulse.mark(topNoon)
	reader.fill(&f, nil)
	assert.Equal(t, topProcessors{Busy: 2, Total: 40}, f.Processors)
}

// The inspector is closed after the clerk, so not under a reading.
func TestTopClerkWaitsForWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	clerk := &topClerk{ctx: ctx}
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
	s := openShop(t)
	ctx, cancel := context.WithCancel(context.Background())
	clerk := &topClerk{ctx: ctx, reader: &topReader{inspector: s.looked}}
	asked, answers := make(chan struct{}, 1000), make(chan struct{})
	s.server.Hook(func(string, []string) { asked <- struct{}{}; <-answers })
	ended := make(chan topRead, 1)
	go func() {
		answer, _ := clerk.read(false)().(topRead)
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
	s.server.Hook(nil)
	assert.Nil(t, clerk.read(false)(), "after that nothing is asked for")
	assert.Nil(t, clerk.setPaused("greet", true)())
}
