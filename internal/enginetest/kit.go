package enginetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// Kit is a [pooltest.Kit] that can also look at what is stored, and change it by hand.
type Kit struct{ *pooltest.Kit }

// NewKit makes the kit of one test.
func NewKit(t *testing.T, s redistest.Server) *Kit { return &Kit{pooltest.NewKit(t, s)} }

// Inspector looks into the namespace of the kit.
func (k *Kit) Inspector() *inspect.Inspector {
	k.T.Helper()
	i, err := inspect.New(k.Server.DSN(), work.Namespace(k.Namespace))
	require.NoError(k.T, err)
	k.T.Cleanup(func() { require.NoError(k.T, i.Close()) })
	return i
}

// Messages are those of a job's log.
func (k *Kit) Messages(id string) []string {
	k.T.Helper()
	lines, err := k.Inspector().Log(k.Ctx(), id, 0)
	require.NoError(k.T, err)
	messages := make([]string, len(lines))
	for i, line := range lines {
		messages[i] = line.Message
	}
	return messages
}

// ByHand does by hand what a test wants in the namespace of the kit.
func (k *Kit) ByHand() ByHand { return ByHand{k.Inspector()} }

// HandsOn is byHand on a driver of the test.
func (k *Kit) HandsOn(driver redisconn.Driver) ByHand {
	k.T.Helper()
	i, err := inspect.New("", work.WithConnection(pooltest.Connection{Of: driver}), work.Namespace(k.Namespace))
	require.NoError(k.T, err)
	return ByHand{i}
}

// Schedules are all of the namespace, by id.
func (k *Kit) Schedules() map[string]SeenSchedule {
	k.T.Helper()
	list, err := k.ByHand().SeenSchedules(k.Ctx())
	require.NoError(k.T, err)
	all := map[string]SeenSchedule{}
	for _, one := range list {
		all[one.ID] = one
	}
	return all
}

// Bury makes a worker dead as a reaper would, without putting anything back.
func (k *Kit) Bury(id string) {
	k.T.Helper()
	require.Equal(k.T, 1, k.Number("SMOVE", "workers", "{"+k.Namespace+"}:dead", id))
}
