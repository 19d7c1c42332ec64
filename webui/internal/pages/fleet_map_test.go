package pages

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
)

// A pool with a worker in each of two partitions has its processors once; what stopped stands at its host.
func TestTheFleetIsMappedByHostAndProcess(t *testing.T) {
	t.Parallel()
	now := time.Now()
	job := func(id string, ago time.Duration) inspect.RunningJob {
		return inspect.RunningJob{ID: id, Name: "mail", Since: now.Add(-ago)}
	}
	worker := func(host string, pid int, group string, jobs ...inspect.RunningJob) inspect.WorkerInfo {
		return inspect.WorkerInfo{ID: fmt.Sprint(host, pid), Host: host, PID: pid, Group: group, Concurrency: 4,
			Alive: true, Running: jobs, Load: inspect.Load{One: 1.5}, Labels: []string{"gpu"}, AsOf: now,
			Started: now.Add(-time.Hour)}
	}
	dead := worker("b", 9, "", job("gone", time.Second))
	dead.Alive, dead.Wanted = false, "quiet"
	hosts := fleetMapOf([]inspect.WorkerInfo{worker("a", 1, "g", job("one", time.Minute)),
		worker("a", 1, "g", job("two", 2*time.Hour)), worker("a", 2, ""), dead},
		[]inspect.StoppedWorker{{Host: "a", Why: "died"}, {Host: "z", Why: "stopped"}, {Host: "z", Why: "stopped"}},
		now, time.Hour)
	require.Len(t, hosts, 3)
	assert.Equal(t, []string{"a", "b", "z"}, []string{hosts[0].Host, hosts[1].Host, hosts[2].Host})
	assert.Equal(t, []string{"1 died", "", "2 stopped"}, []string{hosts[0].Stopped, hosts[1].Stopped, hosts[2].Stopped})
	require.Len(t, hosts[0].Processes, 2)
	p := hosts[0].Processes[0]
	assert.Equal(t, []int{2, 4, 4}, []int{p.Busy, p.Total, len(p.Cells)}, "the processors of the pool count once")
	assert.Equal(t, []string{"busy", "stuck", "idle", "idle"},
		[]string{p.Cells[0].Class, p.Cells[1].Class, p.Cells[2].Class, p.Cells[3].Class})
	assert.Equal(t, "mail, job one, for 1 min", p.Cells[0].Text)
	assert.Equal(t, []string{"gpu"}, p.Labels)
	assert.InDelta(t, 3.0, p.Load, 0.01)
	assert.Equal(t, "lost", hosts[1].Processes[0].Cells[0].Class)
	assert.False(t, hosts[1].Processes[0].Alive)
	assert.Equal(t, "quiet", hosts[1].Processes[0].Wanted)
}

func TestTheMapIsBounded(t *testing.T) {
	t.Parallel()
	var workers []inspect.WorkerInfo
	for n := range 2 * processesMapped {
		workers = append(workers, inspect.WorkerInfo{ID: fmt.Sprint(n), Host: "h", PID: n, Concurrency: 256,
			Alive: true})
	}
	hosts := fleetMapOf(workers, nil, time.Now(), time.Hour)
	require.Len(t, hosts[0].Processes, processesMapped)
	assert.Len(t, hosts[0].Processes[0].Cells, cellsMapped)
	assert.Equal(t, 256-cellsMapped, hosts[0].Processes[0].More)
	assert.Empty(t, fleetMapOf(nil, nil, time.Now(), time.Hour))
}
