package partitions_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// mortal is a pool with a job that dies so many times before it is done.
type mortal struct {
	*divided
	counts
	deaths int
	begun  chan string
	leave  chan struct{} // where it is not nil, one that is to be done waits for it
	heard  string        // what one asked that waits for it
}

func newMortal(d *divided, deaths int) *mortal {
	m := &mortal{divided: d, deaths: deaths, begun: make(chan string, 9), counts: counts{ran: map[string]int{}}}
	d.Start(work.NewWorkerPool(nil, 4, d.Options()).
		Job("ok", func(job *work.Job) error { return m.note(job) }).
		Job("end", m.note).
		Job("dies", func(job *work.Job) (string, error) {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.deaths > 0 {
				m.deaths--
				return "", work.Bury(errors.New("no"))
			}
			m.ran[job.ID]++
			if leave := m.leave; leave != nil {
				m.mu.Unlock()
				m.begun <- job.ID
				<-leave
				m.mu.Lock()
			}
			return "at last", nil
		}).
		Job("asks", func(ctx context.Context, job *work.Job) error {
			result, err := flow.Result[string](ctx, job, "dies")
			if err != nil {
				return work.Bury(err)
			}
			m.mu.Lock()
			m.heard = result
			m.mu.Unlock()
			return m.note(job)
		}))
	return m
}

// waitsForDead stores a flow, which is in partition 0, of which a member has died that is at home in that partition:
// one holds on for it, and another one has run.
func (m *mortal) waitsForDead(at int) {
	m.T.Helper()
	f := flow.New("f").OnDone("end").OnDeath("end")
	f.Job("ok").Named("here").With(work.Key(m.keyAt("ok", 0, 0)))
	dies := f.Job("dies").Named("dies").With(work.Key(m.keyAt("dies", at, 0)))
	f.Job("asks").Named("holds").With(work.Key(m.keyAt("asks", 2, 0))).After(dies).Hold(flow.Dead)
	f.Job("ok").Named("even").After(dies).Even(flow.Dead)
	_, err := flow.Enqueue(m.Ctx(), m.Enq, f)
	require.NoError(m.T, err)
	m.Until("what runs whatever the end has run", func() bool {
		p, err := flow.Read(m.Ctx(), m.Enq, "f")
		return err == nil && p.Done == 2 && p.Dead == 1
	})
	assert.Zero(m.T, m.of("f/holds/@job"))
	p, err := flow.Read(m.Ctx(), m.Enq, "f")
	require.NoError(m.T, err)
	assert.Equal(m.T, []any{flow.Running, 1}, []any{p.State, p.Left})
}

// What becomes by hand of a dead member, while another one holds on for it, counts in its flow wherever it is at home.
func TestAwayADeadMemberIsRetriedByHand(t *testing.T) {
	retried := func(m *mortal, id string) { require.NoError(m.T, m.Inspector().RetryNow(m.Ctx(), id)) }
	for what, c := range map[string]struct {
		deaths int
		do     func(m *mortal, id string)
		want   flow.Progress
		heard  string
	}{
		"retried": {1, retried, flow.Progress{State: flow.Done, Total: 4, Done: 4}, "at last"},
		"dies again": {2, func(m *mortal, id string) {
			retried(m, id)
			m.Until("it is dead again", func() bool {
				m.mu.Lock()
				defer m.mu.Unlock()
				return m.deaths == 0
			})
			m.Until("it is in the morgue", func() bool {
				job, err := m.Inspector().Job(m.Ctx(), id)
				return err == nil && job.State == work.StateDead
			})
			retried(m, id)
		}, flow.Progress{State: flow.Done, Total: 4, Done: 4}, "at last"},
		"deleted": {1, func(m *mortal, id string) { require.NoError(m.T, m.Inspector().Delete(m.Ctx(), id)) },
			flow.Progress{State: flow.DeadEnded, Total: 4, Done: 2, Cancelled: 1, Otherwise: 1}, ""},
		"its flow is cancelled": {1, func(m *mortal, id string) {
			_, err := flow.Cancel(m.Ctx(), m.Enq, "f")
			require.NoError(m.T, err)
		}, flow.Progress{State: flow.Cancelled, Total: 4, Done: 2, Dead: 1, Cancelled: 1}, ""},
	} {
		for at, id := range []string{"f/dies", "f/dies/@job"} {
			t.Run(fmt.Sprint(what, at), func(t *testing.T) {
				each(t, func(t *testing.T, s redistest.Server) {
					m := newMortal(newDivided(t, s, 3), c.deaths)
					m.waitsForDead(at)
					c.do(m, id)
					p, err := flow.Wait(m.Ctx(), m.Enq, "f")
					require.NoError(t, err)
					assert.Equal(t, c.want, flow.Progress{State: p.State, Total: p.Total, Done: p.Done, Dead: p.Dead,
						Cancelled: p.Cancelled, Otherwise: p.Otherwise, Left: p.Left})
					runs := 0
					if c.want.State == flow.Done {
						runs = 1
						m.Until("its end has run", func() bool { return m.of("f/@done") == 1 })
					}
					assert.Equal(t, []int{runs, runs, 1}, []int{m.of(id), m.of("f/holds/@job"), m.of("f/even")})
					assert.Equal(t, c.heard, m.heard)
				})
			})
		}
	}
}

// A dead member that is retried by hand when its flow has ended changes nothing about that. A retry of the flow leaves
// it out if it is done by then, and waits for it while it runs, wherever it is at home.
func TestAwayADeadMemberIsRetriedByHandBehindTheEnd(t *testing.T) {
	for _, runs := range []bool{false, true} {
		for at, id := range []string{"f/dies", "f/dies/@job"} {
			t.Run(fmt.Sprint("it runs ", runs, at), func(t *testing.T) {
				each(t, func(t *testing.T, s redistest.Server) {
					m := newMortal(newDivided(t, s, 3), 1)
					m.leave = make(chan struct{})
					m.endsDead(at)
					require.NoError(t, m.Inspector().RetryNow(m.Ctx(), id))
					require.Equal(t, id, pooltest.Receive(t, m.begun))
					ends := func() {
						close(m.leave)
						m.Until("it is done", func() bool {
							job, err := m.Inspector().Job(m.Ctx(), id)
							return err != nil || job.State == work.StateSucceeded
						})
					}
					if !runs {
						ends()
					}
					p, err := flow.Read(m.Ctx(), m.Enq, "f")
					require.NoError(t, err)
					assert.Equal(t, flow.DeadEnded, p.State)
					_, err = flow.Retry(m.Ctx(), m.Enq, "f")
					require.NoError(t, err)
					if runs {
						p, err = flow.Read(m.Ctx(), m.Enq, "f")
						require.NoError(t, err)
						assert.Equal(t, []any{flow.Running, 2}, []any{p.State, p.Left})
						ends()
					}
					p, err = flow.Wait(m.Ctx(), m.Enq, "f")
					require.NoError(t, err)
					assert.Equal(t, []any{flow.Done, 3}, []any{p.State, p.Done})
					assert.Equal(t, []int{1, 1}, []int{m.of(id), m.of("f/last/@job")})
				})
			})
		}
	}
}

// endsDead has a flow end, which is in partition 0, of which a member has died that is at home in that partition.
func (m *mortal) endsDead(at int) {
	m.T.Helper()
	f := flow.New("f").OnDone("end").OnDeath("end")
	f.Job("ok").Named("here").With(work.Key(m.keyAt("ok", 0, 0)))
	dies := f.Job("dies").Named("dies").With(work.Key(m.keyAt("dies", at, 0)))
	f.Job("ok").Named("last").With(work.Key(m.keyAt("ok", 2, 0))).After(dies)
	_, err := flow.Enqueue(m.Ctx(), m.Enq, f)
	require.NoError(m.T, err)
	p, err := flow.Wait(m.Ctx(), m.Enq, "f")
	require.NoError(m.T, err)
	require.Equal(m.T, flow.DeadEnded, p.State)
	assert.Zero(m.T, m.of("f/last/@job"))
}
