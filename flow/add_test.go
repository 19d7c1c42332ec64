package flow_test

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
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/redistest"
)

func TestAMemberAddsOthersOnceWhateverItsAttempts(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		attempts := 0
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).
			Job("ok", r.done).
			Job("adds", func(ctx context.Context, job *work.Job) error {
				attempts++
				for n := range 2 {
					if err := flow.Add(ctx, job, fmt.Sprint("page-", n), work.Entry{Name: "ok"}); err != nil {
						return err
					}
				}
				if err := flow.Add(ctx, job, "sum", work.Entry{Name: "ok"}, "page-0", "page-1", "adds"); err != nil {
					return err
				}
				r.note(flow.Add(ctx, job, "x", work.Entry{Name: "ok"}, "nobody").Error())
				if attempts == 1 {
					return work.RetryIn(1, errors.New("once more"))
				}
				return nil
			}))
		f := flow.New("f").OnDone("ok")
		f.Job("adds")
		k.stored(f)
		p := k.ended("f")
		k.Drained(pool)
		assert.Equal(t, []int{4, 4}, []int{p.Total, p.Done})
		ran := r.all()
		assert.Contains(t, ran, `member "x" of flow "f" is after "nobody", which is not known: name members that are `+
			`there; of a batch those that have not ended`)
		for _, id := range []string{"f/page-0", "f/page-1", "f/sum", "f/@done"} {
			assert.Equal(t, 1, count(ran, id), id)
		}
		assert.Equal(t, []string{"f/sum", "f/@done"}, ran[len(ran)-2:])
	})
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// An addition that races with the last end is never lost, and never after the end: the member that adds is left.
func TestNothingIsAddedToAFlowThatIsOver(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		store := pooltest.StoreOf(k.Enq)
		add := flowdb.Addition{Flow: "f", By: "ok",
			Member: flowdb.Member{Name: "new", Queue: "ok", Record: []byte("{}")}}
		answer, _, err := flowdb.Of(store).Add(k.Ctx(), add)
		require.NoError(t, err)
		assert.Equal(t, flowdb.Gone, answer)
		f := flow.New("f")
		f.Job("ok")
		k.stored(f)
		k.Drained(k.pool(&runs{}))
		answer, _, err = flowdb.Of(store).Add(k.Ctx(), add)
		require.NoError(t, err)
		assert.Equal(t, flowdb.Over, answer)
		assert.Zero(t, k.Number("LLEN", "queue:ok"))
		assert.Zero(t, k.Number("HLEN", "flow.records:f"))
	})
}
