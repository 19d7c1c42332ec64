package top

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

// runLive shows the model until somebody leaves it or ctx ends. The terminal is as it was when it returns.
func runLive(ctx context.Context, c *console.Console, m *model, reader *reader) error {
	working, cancel := context.WithCancel(ctx)
	desk := &clerk{ctx: working, reader: reader}
	defer desk.close(cancel) // the inspector is closed after this
	m.desk = desk
	program := tea.NewProgram(m, tea.WithInput(c.In), tea.WithOutput(c.Out), tea.WithoutSignalHandler())
	// Not by tea.WithContext: a program that is killed closes its input while it may still read from it.
	stopWatching := context.AfterFunc(ctx, program.Quit)
	defer stopWatching()
	_, err := program.Run()
	switch {
	case m.interrupted || errors.Is(context.Cause(ctx), interrupt.Err):
		return interrupt.Err
	case err != nil:
		return fmt.Errorf("the screen was given up: %w", err)
	}
	return nil
}

// clerk does what a model wants of Redis, and does not leave while it is at it.
type clerk struct {
	ctx    context.Context
	reader *reader

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup
}

// close ends what is under way and waits for it.
func (c *clerk) close(cancel context.CancelFunc) {
	cancel()
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.busy.Wait()
}

// does makes a command of something. After close it does nothing: the library starts commands that nobody waits for.
func (c *clerk) does(something func(context.Context) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		c.mu.Lock()
		if c.closed {
			c.mu.Unlock()
			return nil
		}
		c.busy.Add(1)
		c.mu.Unlock()
		defer c.busy.Done()
		return something(c.ctx)
	}
}

func (c *clerk) read(withErrors bool) tea.Cmd {
	return c.does(func(ctx context.Context) tea.Msg {
		figures, err := c.reader.read(ctx, withErrors)
		return readMsg{figures: figures, err: err, at: time.Now()}
	})
}

// setPaused may be repeated after a lost answer: to pause what is paused changes nothing.
func (c *clerk) setPaused(queue string, to bool) tea.Cmd {
	return c.does(func(ctx context.Context) tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, readTimeout)
		defer cancel()
		set := c.reader.inspector.ResumeQueue
		if to {
			set = c.reader.inspector.PauseQueue
		}
		return pausedMsg{queue: queue, to: to, err: set(ctx, queue)}
	})
}
