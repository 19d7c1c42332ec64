package work

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// tally counts how often each job ran.
type tally struct {
	mu   sync.Mutex
	runs map[string]int
}

func newTally() *tally { return &tally{runs: map[string]int{}} }

func (l *tally) handle(job *Job, _ int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[job.ID]++
	return nil
}

func (l *tally) once(t *testing.T, receipts []Receipt) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Len(t, l.runs, len(receipts))
	for _, receipt := range receipts {
		assert.Equal(t, 1, l.runs[receipt.ID])
	}
}

func TestJobsOfAFetchWhoseReplyIsLostRunOnce(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newTally()
		proxy := redistest.NewProxy(t, s.Addr())
		options := k.options()
		options.Redis = proxy.DSN()
		pool := k.start(NewWorkerPool(nil, 5, options).Job("n", ran.handle))
		warm := k.enqueueNumbers("n", 0, 1) // so that Redis knows the script, and answers a fetch with jobs
		await[event.JobDone](t, k.spy, nil)
		// Only a fetch that names the queue has these keys in this order.
		worker := fmt.Sprintf("{%s}:worker:%s:inprocess:n", k.namespace, pool.id())
		swallowed := proxy.SwallowReply(fmt.Sprintf("rate:n\r\n$%d\r\n%s", len(worker), worker))
		receipts := append(warm, k.enqueueNumbers("n", 1, 6)...)
		receive(t, swallowed)
		returned := await[event.JobsReturned](t, k.spy, nil)
		assert.Equal(t, event.JobsReturned{Worker: pool.id(), Jobs: 5}, returned)
		require.NoError(t, pool.Drain(k.ctx()))
		ran.once(t, receipts)
		k.empty("n")
		assert.Zero(t, count[event.ClaimGone](k.spy))
	})
}

func TestAFetchThatComesLateClaimsNothing(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		ran := newTally()
		pool := NewWorkerPool(nil, 5, k.options()).Job("n", ran.handle)
		var late []rdb.Call
		answer := make(chan rdb.Reply, 1)
		k.tamper(pool, &tampered{tamper: func(ctx context.Context, pass send, calls []rdb.Call) ([]rdb.Reply, error) {
			if nameOf(calls[0]) == "fetch" && len(calls[0].Keys) > 8 && late == nil { // the fetcher alone comes here
				late = calls
				return nil, errors.New("given up")
			}
			replies, err := pass(ctx, calls...)
			if nameOf(calls[0]) == "survey" && late != nil && len(answer) == 0 {
				belated, err := pass(ctx, late...)
				if assert.NoError(t, err) {
					answer <- belated[0]
				}
			}
			return replies, err
		}})
		receipts := k.enqueueNumbers("n", 0, 5)
		k.start(pool)
		assert.Equal(t, []any{[]byte("stale")}, receive(t, answer).Value)
		require.NoError(t, pool.Drain(k.ctx()))
		ran.once(t, receipts)
		assert.Zero(t, count[event.JobsReturned](k.spy))
		k.empty("n")
	})
}
