package inspect_test

import (
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
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

// hands is an inspector that shares nothing with the others of the test.
func (k *kit) hands() *inspect.Inspector { return k.inspector() }

// wipe is what FLUSHALL does, in this test's namespace only.
func (k *kit) wipe() {
	conn, err := redis.Dial("tcp", k.Server.Addr())
	require.NoError(k.T, err)
	defer conn.Close()
	_, err = conn.Do("DEL", redis.Args{}.AddFlat(k.Remains(""))...)
	require.NoError(k.T, err)
}

// healthy has the doctor look: it must find nothing but jobs that wait for these names to be served.
func (k *kit) healthy(unserved ...string) {
	k.T.Helper()
	d, err := doctor.Examine(k.LongCtx(), k.inspector(), doctor.Options{Patience: time.Second})
	require.NoError(k.T, err)
	var waiting []string
	for _, finding := range d.Findings {
		switch finding.Check {
		case doctor.CheckServer:
		case doctor.CheckUnserved:
			waiting = append(waiting, finding.Queue)
		default:
			assert.Failf(k.T, "the doctor found something", "%+v", finding)
		}
	}
	assert.ElementsMatch(k.T, unserved, waiting)
}
