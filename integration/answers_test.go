package integration

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

// foreignAnswers are words of others than Redis itself: of Redis 7.0 inside of scripts, of providers and of proxies.
var foreignAnswers = []string{
	"ERR The user executing the script can't run this command or subcommand script: d2cc, on @user_script:76.",
	"ERR READONLY You can't write against a read only replica.",
	"ERR max daily request limit exceeded. Limit: 10000, Usage: 10001.",
	"TOO_MANY_REQUESTS",
	"ERR upstream failure",
	"ERR the moon is in the way",
}

// answered counts what a trial of foreign answers has done to jobs that are never run again after a failure.
type answered struct {
	done, dead, failed   atomic.Int64
	step, save, enqueue  atomic.Int64 // calls of handlers that failed
	outside, lost, begun atomic.Int64 // enqueues of a program that failed; logs that were lost; runs
	firstErr             atomic.Pointer[string]
	opened               chan struct{}
	over                 chan struct{}
	once                 sync.Once
	jobs                 int64
}

func (a *answered) observe(e event.Event) {
	switch e := e.(type) {
	case event.JobsSettled:
		a.done.Add(int64(e.Jobs))
	case event.JobBuried:
		a.dead.Add(1)
	case event.JobFailed:
		a.failed.Add(1)
	case event.Trouble:
		if strings.HasPrefix(e.Component, "log flusher, log of") {
			a.lost.Add(1)
		}
	}
	if a.done.Load() >= a.jobs {
		a.once.Do(func() { close(a.over) })
	}
}

// note counts a call of a handler that failed.
func (a *answered) note(counter *atomic.Int64, err error) error {
	if err != nil {
		counter.Add(1)
		text := err.Error()
		a.firstErr.CompareAndSwap(nil, &text)
	}
	return err
}

func (a *answered) handle(ctx context.Context, job *work.Job, text string) error {
	if a.begun.Add(1) == 50 {
		close(a.opened)
	}
	for n := range 3 {
		job.Logger().Info("line", "n", n)
	}
	_, err := work.Step(ctx, "charge", func(context.Context) (int, error) { return len(text), nil })
	if err := a.note(&a.step, err); err != nil {
		return err
	}
	if err := a.note(&a.save, job.SaveState(ctx, len(text))); err != nil {
		return err
	}
	_, err = work.EnqueuerFromContext(ctx).Enqueue(ctx, "after")
	return a.note(&a.enqueue, err)
}

// TestForeignAnswersCostNoJob has a proxy answer each request for 3 s with words of others than Redis while 300 jobs
// with args of 20 kB run that are tried once: none dies, no line of a log is lost, and nothing that a handler or a
// program asks fails.
func TestForeignAnswersCostNoJob(t *testing.T) {
	if os.Getenv("WORK_ANSWERS_LONG") == "" {
		t.Skip("set WORK_ANSWERS_LONG=1 for the 3 s of each answer: make answers")
	}
	for _, words := range foreignAnswers {
		t.Run(words, func(t *testing.T) { trial(t, words) })
	}
}

func trial(t *testing.T, words string) {
	const jobs = 300
	server, namespace := redistest.Real(t), redistest.Namespace(t)
	proxy := redistest.NewRefuser(t, server.Addr())
	a := &answered{opened: make(chan struct{}), over: make(chan struct{}), jobs: 2*jobs + 21}
	pool := work.NewWorkerPool(nil, 100, work.WorkerOptions{
		Redis: proxy.DSN(), Namespace: namespace, Observers: []work.Observer{work.ObserverFunc(a.observe)},
		Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	pool.JobWithOptions("mail", work.JobOptions{Retries: -1}, a.handle)
	pool.JobWithOptions("after", work.JobOptions{Retries: -1}, func() error { return nil })
	direct, err := work.NewEnqueuer(server.DSN(), work.Namespace(namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, direct.Close()) })
	through, err := work.NewEnqueuer(proxy.DSN(), work.Namespace(namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, through.Close()) })
	_, err = through.Enqueue(t.Context(), "after") // its connection stands
	require.NoError(t, err)
	for n := range jobs {
		_, err := direct.Enqueue(t.Context(), "mail", fmt.Sprint(n, strings.Repeat("x", 20_000)))
		require.NoError(t, err)
	}
	require.NoError(t, pool.Start(t.Context()))
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			assert.NoError(t, pool.Stop(ctx))
		}
	}
	defer stop()
	<-a.opened
	proxy.Refuse(words)
	window := time.After(3 * time.Second)
	for range 20 {
		go func() {
			if _, err := through.Enqueue(context.Background(), "after"); err != nil && !errors.Is(err, work.ErrClosed) {
				_ = a.note(&a.outside, err)
			}
		}()
	}
	<-window
	proxy.Refuse("")
	select {
	case <-a.over:
	case <-time.After(30 * time.Second): // some were never enqueued
	}
	stop()
	first := ""
	if text := a.firstErr.Load(); text != nil {
		first = *text
	}
	t.Logf("refused %d requests; of %d jobs %d died, %d failures; failed calls: Step %d, SaveState %d, Enqueue in "+
		"handlers %d, Enqueue of a program %d of 20; %d logs lost; first error: %.200s", proxy.Refused(), jobs,
		a.dead.Load(), a.failed.Load(), a.step.Load(), a.save.Load(), a.enqueue.Load(), a.outside.Load(), a.lost.Load(),
		first)
	assert.Zero(t, a.dead.Load(), "jobs died")
	assert.Zero(t, a.failed.Load(), "attempts were used")
	assert.Zero(t, a.step.Load()+a.save.Load()+a.enqueue.Load()+a.outside.Load(), "calls failed")
	assert.Zero(t, a.lost.Load(), "lines of logs are lost")
}
