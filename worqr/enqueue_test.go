package worqr_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/worqr"
)

func TestEnqueueOne(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		require.NoError(t, s.producer().Enqueue(t.Context(), "q", []byte("one")))
		assert.Equal(t, []string{"one"}, s.waiting("q"))
		assert.Equal(t, []string{"q"}, texts(s.cmd("SMEMBERS", s.key("knownQueues"))))
	})
}

func TestEnqueueMany(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		var tasks []string
		for i := range 1203 { // three scripts
			tasks = append(tasks, fmt.Sprint(i))
		}
		s.enqueue("q", tasks...)
		assert.Equal(t, tasks, s.waiting("q"), "the first one is in front")
		require.NoError(t, s.producer().Enqueue(t.Context(), "none"))
		assert.False(t, s.exists("queues:none"))
	})
}

func TestEnqueueUnique(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c := s.worker("q")
		unique := func(queue, task string) bool {
			put, err := c.EnqueueUnique(t.Context(), queue, []byte(task))
			require.NoError(t, err)
			require.Len(t, put, 1)
			return put[0]
		}
		assert.True(t, unique("q", "a"))
		assert.False(t, unique("q", "a"), "it waits")
		assert.True(t, unique("q", "b"))
		assert.True(t, unique("other", "a"), "a lock is one of its queue")
		p := s.start(c, "q")
		assert.Equal(t, "a", string(p.Task))
		assert.False(t, unique("q", "a"), "it is worked on")
		require.NoError(t, p.Stop(t.Context()))
		assert.False(t, unique("q", "a"), "it waits again")
		require.NoError(t, s.start(c, "q").Finish(t.Context(), nil))
		assert.True(t, unique("q", "a"), "it has ended")
	})
}

func TestEnqueueUniqueInBatches(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c := s.producer()
		put, err := c.EnqueueUnique(t.Context(), "q", raw("a", "b", "a", "c")...)
		require.NoError(t, err)
		assert.Equal(t, []bool{true, true, false, true}, put)
		var tasks []string
		for i := range 120 { // three scripts
			tasks = append(tasks, fmt.Sprint(i))
		}
		put, err = c.EnqueueUnique(t.Context(), "q", raw(append(tasks, "b", "0")...)...)
		require.NoError(t, err)
		require.Len(t, put, 122)
		assert.NotContains(t, put[:120], false)
		assert.Equal(t, []bool{false, false}, put[120:])
		assert.Equal(t, append([]string{"a", "b", "c"}, tasks...), s.waiting("q"))
	})
}

// TestUniqueLocksBelongToOneCopy: copies of the same bytes that are not unique must not free the lock, whatever their
// order.
func TestUniqueLocksBelongToOneCopy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after int // plain copies
		frees         int // which of the processes, in the order of their start, frees the lock
	}{
		"alone":            {0, 0, 0},
		"a twin behind":    {0, 1, 0},
		"a twin before":    {1, 0, 1},
		"twins all around": {2, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.worker("q")
				free := func() bool { return len(s.keys("uniqueTasks:*")) == 0 }
				for range c.before {
					s.enqueue("q", "a")
				}
				put, err := w.EnqueueUnique(t.Context(), "q", []byte("a"))
				require.NoError(t, err)
				require.True(t, put[0])
				for range c.after {
					s.enqueue("q", "a")
				}
				var started []*worqr.Process
				for range c.before + 1 + c.after {
					started = append(started, s.start(w, "q"))
				}
				for _, p := range started { // put back newest last, so that they change places twice
					require.NoError(t, p.Stop(t.Context()))
				}
				started = started[:0]
				for range c.before + 1 + c.after {
					started = append(started, s.start(w, "q"))
				}
				frees := c.before + c.after - c.frees // the order was turned round
				for i, p := range started {
					if i != frees {
						require.NoError(t, p.Finish(t.Context(), nil))
						require.False(t, free(), "finished by a twin")
					}
				}
				require.NoError(t, started[frees].Finish(t.Context(), nil))
				assert.True(t, free())
				assert.Empty(t, s.keys("uniqueWaiting:*"))
			})
		})
	}
}

func TestEmptyAndBinaryPayloads(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]string{
		"empty": "", "NUL": "a\x00b", "no text": "\xff\xfe\x00", "colon and underscore": "a:b_c",
		"protocol": "*1\r\n$4\r\nPING\r\n", "1 MiB": strings.Repeat("\x00x", 1<<19),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.worker("q")
				done, err := w.Watch(t.Context(), "q")
				require.NoError(t, err)
				put, err := w.EnqueueUnique(t.Context(), "q", []byte(task))
				require.NoError(t, err)
				assert.Equal(t, []bool{true}, put)
				peeked, err := w.Peek(t.Context(), "q")
				require.NoError(t, err)
				assert.True(t, task == string(peeked))
				p := s.start(w, "q")
				assert.True(t, task == string(p.Task))
				require.NoError(t, p.Stop(t.Context()))
				p = s.start(w, "q")
				require.NoError(t, p.Finish(t.Context(), []byte(task)))
				e := await(t, done, always[worqr.Done])
				assert.True(t, task == string(e.Task))
				text, ok := e.Text()
				assert.True(t, task == string(text) && ok)
				s.enqueue("q", task, "other", task)
				removed, err := w.CancelTasks(t.Context(), "q", []byte(task))
				require.NoError(t, err)
				assert.Equal(t, 2, removed)
				assert.Equal(t, []string{"other"}, s.waiting("q"))
			})
		})
	}
}

func TestQueueNamesWithColonAndUnderscore(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"a:b", "a_b", "_", ":", "a_work", "a:work_done", "q\x00r", "with space", "ünï",
		strings.Repeat("n", 512)} {
		t.Run(queue, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				w := s.worker(queue)
				events := s.events(w)
				s.enqueue(queue, "t")
				assert.Equal(t, queue, await(t, events, always[worqr.Work]).Queue)
				p := s.start(w, queue)
				held, err := w.Holdings(t.Context(), w.Worker())
				require.NoError(t, err)
				require.Len(t, held, 1)
				assert.Equal(t, worqr.Holding{Process: p.ID, Worker: w.Worker(), Queue: queue, Task: []byte("t")},
					held[0])
				require.NoError(t, w.FinishTask(t.Context(), p.ID, nil))
				queues, err := w.Queues(t.Context())
				require.NoError(t, err)
				assert.Equal(t, []string{queue}, queues)
			})
		})
	}
}

func TestBadInputIsRefusedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		c := s.worker()
		before := s.keys("*")
		ctx := t.Context()
		long := strings.Repeat("n", 513)
		huge := bytes.Repeat([]byte("x"), 64<<20+1)
		for name, call := range map[string]func() error{
			"enqueue to no name":         func() error { return c.Enqueue(ctx, "", []byte("t")) },
			"enqueue to a long name":     func() error { return c.Enqueue(ctx, long, []byte("t")) },
			"enqueue, the last too long": func() error { return c.Enqueue(ctx, "q", []byte("t"), huge) },
			"enqueue unique, too long": func() error {
				_, err := c.EnqueueUnique(ctx, "q", []byte("t"), huge)
				return err
			},
			"start work": func() error { return c.StartWork(ctx, "") },
			"stop work":  func() error { return c.StopWork(ctx, "") },
			"start task": func() error { _, err := c.StartTask(ctx, ""); return err },
			"count":      func() error { _, err := c.Count(ctx, ""); return err },
			"peek":       func() error { _, err := c.Peek(ctx, long); return err },
			"delete":     func() error { _, err := c.DeleteQueue(ctx, ""); return err },
			"cancel":     func() error { _, err := c.CancelTasks(ctx, "", nil); return err },
			"cancel, too long": func() error {
				_, err := c.CancelTasks(ctx, "q", huge)
				return err
			},
			"watch":    func() error { _, err := c.Watch(ctx, ""); return err },
			"matching": func() error { _, err := c.MatchingProcesses(ctx, "", nil); return err },
			"serve": func() error {
				return c.Serve(ctx, "", func(_ context.Context, _ *worqr.Process) ([]byte, error) { return nil, nil })
			},
			"no handler": func() error {
				return c.Serve(ctx, "q", nil)
			},
		} {
			var invalid *worqr.InvalidError
			assert.ErrorAs(t, call(), &invalid, name)
		}
		assert.ElementsMatch(t, before, s.keys("*"))
	})
}

// TestALostReplyStoresNothingTwice: the call reaches Redis, its answer does not come back.
func TestALostReplyStoresNothingTwice(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		proxy := redistest.NewProxy(t, s.server.Addr())
		c, err := worqr.Dial(proxy.DSN(), s.options())
		require.NoError(t, err)
		defer c.Close() // its connections break below
		require.NoError(t, c.Enqueue(t.Context(), "q", []byte("0")))
		lost := proxy.SwallowReply("once")
		require.NoError(t, c.Enqueue(t.Context(), "q", raw("once", "twice")...))
		<-lost
		assert.Equal(t, []string{"0", "once", "twice"}, s.waiting("q"))
		lost = proxy.SwallowReply("unique")
		put, err := c.EnqueueUnique(t.Context(), "q", []byte("unique"))
		require.NoError(t, err)
		<-lost
		assert.Equal(t, []bool{true}, put)
	})
}

// TestAnEnqueueThatFailsSaysHowFarItCame: nothing is half done that is not said.
func TestAnEnqueueThatFailsSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd("SET", s.key("queues:q"), "a string")
		err := s.producer().Enqueue(t.Context(), "q", raw("a", "b")...)
		var failed *worqr.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []int{0, 0, 2}, []int{failed.Stored, failed.Unknown, failed.NotStored})
		assert.ErrorContains(t, errors.Unwrap(failed), "BADKEY")
		assert.False(t, s.exists("knownQueues"), "and nothing is half done")
	})
}
