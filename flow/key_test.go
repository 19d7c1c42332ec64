package flow_test

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redistest"
)

func TestMembersWithKeysWaitByTurns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var entries []work.Entry
		for n := range 9 { // six of a, then two of b, then one of c
			key := []string{"a", "a", "a", "a", "a", "a", "b", "b", "c"}[n]
			entries = append(entries, work.Entry{Name: "ok", Options: []work.EnqueueOption{work.Key(key)}})
		}
		entries[8].Options = append(entries[8].Options, work.Weight(3))
		_, err := flow.Batch(k.Ctx(), k.Enq, "f", slices.Values(entries))
		require.NoError(t, err)
		assert.Zero(t, k.Number("LLEN", "queue:ok"))
		assert.Equal(t, []string{"f/9", "f/1", "f/7", "f/2", "f/8", "f/3", "f/4", "f/5", "f/6"},
			k.Strings("ZRANGE", "turns", 0, -1))
		assert.Equal(t, "3 c", k.Text("HGET", "keyed", "f/9"))
		r := &runs{}
		pool := k.pool(r)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Len(t, r.all(), 9)
		assert.Zero(t, k.Number("HLEN", "keyed"))
	})
}

func TestTheRulesOfKeysHoldForMembers(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		var running, most atomic.Int64
		pool := k.Start(work.NewWorkerPool(nil, 8, k.Options()).
			JobWithOptions("ordered", work.JobOptions{Ordered: true}, func(job *work.Job) error {
				now := running.Add(1)
				defer running.Add(-1)
				if now > most.Load() {
					most.Store(now)
				}
				r.note(job.ID)
				return nil
			}).
			Job("ok", r.done))
		f := flow.New("f").OnDone("ok")
		first := f.Job("ok").Named("first")
		var want []string
		for n := range 20 {
			name := fmt.Sprintf("m%02d", n)
			first = f.Job("ordered").Named(name).With(work.Key("k")).After(first)
			want = append(want, "f/"+name)
		}
		k.stored(f)
		assert.Equal(t, flow.Done, k.ended("f").State)
		k.Drained(pool)
		assert.Equal(t, want, slices.DeleteFunc(r.all(), func(id string) bool { return id[2] != 'm' }))
		assert.EqualValues(t, 1, most.Load())
	})
}
