package doctor

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// kit is a kit of pools with an inspector.
type kit struct{ *pooltest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit {
	k := pooltest.NewKit(t, s)
	k.Prefetch = work.NoPrefetch // what runs is counted here
	return &kit{k}
}

// inspector looks into the namespace of the kit.
func (k *kit) inspector() *inspect.Inspector {
	k.T.Helper()
	i, err := inspect.New(k.Server.DSN(), work.Namespace(k.Namespace))
	require.NoError(k.T, err)
	k.T.Cleanup(func() { require.NoError(k.T, i.Close()) })
	return i
}
