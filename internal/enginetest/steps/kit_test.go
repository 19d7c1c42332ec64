package steps_test

import (
	"context"
	"maps"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

type kit struct{ *enginetest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{enginetest.NewKit(t, s)} }

// soon has a failed job tried again at once.
var soon = work.JobOptions{Backoff: func(*work.Job, error) time.Duration { return 0 }}

// send sends a message that must be stored.
func (k *kit) send(id, name string, value any) {
	k.T.Helper()
	require.NoError(k.T, work.Send(k.Ctx(), k.Enq, id, name, value))
}

// diary counts how often each thing was done.
type diary struct {
	mu    sync.Mutex
	times map[string]int
}

func newDiary() *diary { return &diary{times: map[string]int{}} }

// did notes that it was done once more.
func (d *diary) did(what string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.times[what]++
	return d.times[what]
}

func (d *diary) all() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := map[string]int{}
	maps.Copy(all, d.times)
	return all
}

// step is a step that notes itself.
func (d *diary) step(ctx context.Context, name string, then ...error) error {
	_, err := work.Step(ctx, name, func(context.Context) (int, error) {
		n := d.did(name)
		for _, err := range then {
			return n, err
		}
		return n, nil
	})
	return err
}

// ending ends an attempt as the error says.
func ending(err error) error {
	switch err {
	case errPanic:
		panic("luck")
	case errGoexit:
		runtime.Goexit()
	}
	return err
}
