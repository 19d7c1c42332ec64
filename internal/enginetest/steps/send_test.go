package steps_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// inbox are the messages that a job has not asked for, as they stand there.
func (k *kit) inbox(id string) (messages []string) {
	k.T.Helper()
	for i, element := range k.Strings("LRANGE", "mail:"+id, 0, -1) {
		if i > 0 {
			_, message, _ := strings.Cut(element, " ")
			messages = append(messages, message)
		}
	}
	return messages
}

func TestAMessageWhoseReplyIsLostIsStoredOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("import").ID
		sends := 0
		lossy := pooltest.EnqueuerOn(connection(k.Interfering(func(ctx context.Context, pass pooltest.Send,
			calls []redisconn.Call) ([]redisconn.Reply, error) {
			replies, err := pass(ctx, calls...)
			if pooltest.NameOf(calls[0]) != "send" {
				return replies, err
			}
			if sends++; sends%3 != 0 {
				return nil, pooltest.ErrLuck
			}
			return replies, err
		})), k.Namespace)
		t.Cleanup(func() { _ = lossy.Close() })
		for i := range 3 {
			require.NoError(t, work.Send(k.Ctx(), lossy, id, "approval", i))
		}
		assert.Equal(t, 9, sends)
		assert.Equal(t, []string{"approval\x000", "approval\x001", "approval\x002"}, k.inbox(id))
	})
}

func connection(c work.Connection) redisconn.Driver {
	driver, err := c.Driver()
	if err != nil {
		panic(err)
	}
	return driver
}

// TestACallThatWasGivenUpIsNotTakenForTheNext: nobody knows whether it was stored, and the next one is another one.
func TestACallThatWasGivenUpIsNotTakenForTheNext(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("import").ID
		ctx, cancel := context.WithCancel(k.Ctx())
		lossy := pooltest.EnqueuerOn(connection(k.Interfering(func(on context.Context, pass pooltest.Send,
			calls []redisconn.Call) ([]redisconn.Reply, error) {
			replies, err := pass(on, calls...)
			if pooltest.NameOf(calls[0]) == "send" && ctx.Err() == nil {
				cancel()
				return nil, pooltest.ErrLuck
			}
			return replies, err
		})), k.Namespace)
		t.Cleanup(func() { _ = lossy.Close() })
		err := work.Send(ctx, lossy, id, "approval", 1)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "not known")
		require.NoError(t, work.Send(k.Ctx(), lossy, id, "approval", 2))
		assert.Equal(t, []string{"approval\x001", "approval\x002"}, k.inbox(id))
	})
}

func TestAMailboxHasBounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		message string
		fit     int
	}{
		"so many":  {"x", 100},
		"so large": {strings.Repeat("x", 100<<10), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				got := make(chan string, 200)
				pool := work.NewWorkerPool(nil, 1, k.Options()).Job("import", func(ctx context.Context) error {
					message, err := work.Receive[string](ctx, "approval")
					if err == nil {
						got <- message
					}
					return errors.Join(err, pooltest.ErrLuck)
				})
				id := k.Enqueue("import").ID
				for range tt.fit {
					k.send(id, "approval", tt.message)
				}
				err := work.Send(k.Ctx(), k.Enq, id, "approval", tt.message)
				require.ErrorIs(t, err, work.ErrMailboxFull)
				var refused *work.MessageError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, []string{id, "approval"}, []string{refused.Job, refused.Message})
				assert.Len(t, k.inbox(id), tt.fit)
				k.Start(pool)
				assert.Equal(t, tt.message, pooltest.Receive(t, got))
				k.send(id, "approval", tt.message) // there is room again
				assert.Len(t, k.inbox(id), tt.fit)
			})
		})
	}
}

func TestWhatIsNoMessageIsRefused(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		id := k.Enqueue("import").ID
		for name, tt := range map[string]struct {
			id, name string
			value    any
		}{
			"no id":               {"", "approval", 1},
			"no name":             {id, "", 1},
			"a name with NUL":     {id, "a\x00b", 1},
			"too large":           {id, "approval", strings.Repeat("x", 128<<10)},
			"what has no JSON":    {id, "approval", func() {}},
			"a name far too long": {id, strings.Repeat("x", 256), 1},
		} {
			t.Run(name, func(t *testing.T) {
				var invalid *work.InvalidError
				require.ErrorAs(t, work.Send(k.Ctx(), k.Enq, tt.id, tt.name, tt.value), &invalid)
			})
		}
		assert.Empty(t, k.inbox(id))
	})
}

func TestAJobThatHasEndedTakesNoMessages(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("plain", pooltest.Nothing).
			JobWithOptions("kept", work.JobOptions{Retention: time.Hour}, pooltest.Nothing).
			JobWithOptions("dies", work.JobOptions{Retries: -1}, func() error { return pooltest.ErrLuck }))
		send := func(id string) *work.MessageError {
			var refused *work.MessageError
			require.ErrorAs(t, work.Send(k.Ctx(), k.Enq, id, "approval", 1), &refused)
			require.ErrorIs(t, refused, work.ErrNotFound)
			require.ErrorContains(t, refused, id)
			return refused
		}
		assert.Empty(t, send("never").State)
		for name, want := range map[string]work.State{"plain": "", "kept": work.StateSucceeded} {
			id := k.Enqueue(name).ID
			pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobDone](id))
			k.Until("it has ended", func() bool { return k.Number("HLEN", "jobs") == 0 })
			assert.Equal(t, want, send(id).State)
		}
		require.ErrorContains(t, work.Send(k.Ctx(), k.Enq, "never", "approval", 1), "never was")
		id := k.Enqueue("dies").ID
		k.Until("it is dead", func() bool { return k.Number("ZCARD", "morgue") == 1 })
		k.send(id, "approval", 1)
	})
}

// TestAnIdThatIsUsedAgainHasAnEmptyMailbox: its former job has never asked.
func TestAnIdThatIsUsedAgainHasAnEmptyMailbox(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		got := make(chan int, 1)
		pool := work.NewWorkerPool(nil, 1, k.Options()).Job("import", func(ctx context.Context, asks bool) error {
			if !asks {
				return nil
			}
			n, err := work.Receive[int](ctx, "approval")
			if err == nil {
				got <- n
			}
			return err
		})
		enqueue := func(asks bool) {
			receipt, err := k.Enq.With(work.ID("mine")).Enqueue(k.Ctx(), "import", asks)
			require.NoError(t, err)
			require.False(t, receipt.Duplicate)
		}
		enqueue(false)
		k.send("mine", "approval", 1)
		k.Start(pool)
		k.Until("it has ended", func() bool { return k.Number("HLEN", "jobs") == 0 })
		enqueue(true)
		pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobSnoozed]("mine"))
		k.send("mine", "approval", 2)
		assert.Equal(t, 2, pooltest.Receive(t, got))
		k.Until("it has ended", func() bool { return len(k.Left()) == 0 })
	})
}

func TestMessagesWithTypes(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		approved := work.DefineMessage[approval]("approval")
		assert.Equal(t, "approval", approved.Name())
		got := make(chan string, 2)
		k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("import", func(ctx context.Context) error {
				by, err := approved.Receive(ctx)
				if err == nil {
					got <- by.By
				}
				return err
			}).
			JobWithOptions("within", work.JobOptions{Retries: -1}, func(ctx context.Context) error {
				by, err := approved.ReceiveWithin(ctx, time.Hour)
				if err == nil {
					got <- by.By
				}
				return err
			}))
		require.NoError(t, approved.Send(k.Ctx(), k.Enq, k.Enqueue("import").ID, approval{"ann"}))
		assert.Equal(t, "ann", pooltest.Receive(t, got))
		id := k.Enqueue("within").ID
		k.send(id, "approval", []int{1})
		dead := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried](id))
		require.ErrorContains(t, dead.Err,
			fmt.Sprintf("step %q of job %q has stored what does not fit", "approval", id))
	})
}
