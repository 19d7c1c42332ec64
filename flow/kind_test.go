package flow_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/redistest"
)

type chargeArgs struct {
	Order int64 `json:"order"`
}

type charged struct {
	Receipt string `json:"receipt"`
}

var (
	charge = work.DefineResult[chargeArgs, charged]("charge")
	ship   = work.Define[chargeArgs]("ship")
	once   = work.Define[chargeArgs]("once", work.JobOptions{Unique: &work.UniqueOptions{For: time.Hour}})
)

// Members of kinds have typed args and results.
func TestMembersOfKinds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k, r := newKit(t, s), &runs{}
		pool := work.NewWorkerPool(nil, 2, k.Options())
		work.HandleFuncResult(pool, charge, func(_ context.Context, args chargeArgs) (charged, error) {
			return charged{Receipt: "of 7"}, nil
		})
		work.HandleFunc(pool, ship, func(ctx context.Context, args chargeArgs) error {
			result, err := flow.ResultOf(ctx, work.JobFromContext(ctx), charge, "")
			r.note(result.Receipt)
			return err
		})
		k.Start(pool)
		f := flow.New("f")
		f.Entry(ship.Entry(chargeArgs{7})).After(f.Entry(charge.Entry(chargeArgs{7})))
		k.stored(f)
		assert.Equal(t, flow.Done, k.ended("f").State)
		assert.Equal(t, []string{"of 7"}, r.all())
	})
}

func TestAMemberOfAUniqueKindHasItsLock(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		f := flow.New("f")
		f.Entry(once.Entry(chargeArgs{7}))
		k.stored(f)
		g := flow.New("g")
		g.Entry(once.Entry(chargeArgs{7}))
		_, err := flow.Enqueue(k.Ctx(), k.Enq, g)
		held := new(flow.LockError)
		require.ErrorAs(t, err, &held)
		assert.Equal(t, flow.LockError{Flow: "g", Member: "once", Holder: "f/once"}, *held)
		assert.Zero(t, k.Number("EXISTS", "flow:g"))
	})
}
