package pages

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/alerts"
	"github.com/265d0351/work/webui/internal/format"
)

// hostMap is a machine with the processes on it. Stopped says how those ended that have run there within a week.
type hostMap struct {
	Host      string
	Processes []processMap
	Stopped   string
}

// processMap is a process with its processors, whichever workers they have in how many partitions.
type processMap struct {
	PID              int
	Service, Version string
	Labels           []string
	Worker           string // the first of them
	Wanted           string
	Alive            bool
	Up               time.Duration
	Busy, Total      int
	Load             float64
	Cells            []processorCell
	More             int // processors that are not drawn
}

// processorCell is a processor: idle, or with a job.
type processorCell struct{ Class, Text, Link string }

// Bounds of the map. A list below it has all workers.
const (
	processesMapped = 200
	cellsMapped     = 64 // of a process
)

// fleetMapOf arranges workers, which come by host and process, and those that have stopped.
func fleetMapOf(workers []inspect.WorkerInfo, stopped []inspect.StoppedWorker, now time.Time,
	stuckAfter time.Duration) []hostMap {
	var hosts []hostMap
	at := map[string]int{}
	host := func(name string) *hostMap {
		n, known := at[name]
		if !known {
			n = len(hosts)
			at[name], hosts = n, append(hosts, hostMap{Host: name})
		}
		return &hosts[n]
	}
	processes := 0
	for of := range processesOf(workers) {
		if processes++; processes > processesMapped {
			break
		}
		h := host(of[0].Host)
		h.Processes = append(h.Processes, newProcessMap(of, now, stuckAfter))
	}
	ends := map[string]map[string]int{}
	for _, w := range stopped {
		if ends[w.Host] == nil {
			ends[w.Host] = map[string]int{}
		}
		ends[w.Host][w.Why]++
	}
	for name, whys := range ends {
		var parts []string
		for why, n := range whys {
			parts = append(parts, fmt.Sprintf("%s %s", format.Count(int64(n)), why))
		}
		slices.Sort(parts)
		host(name).Stopped = strings.Join(parts, ", ")
	}
	slices.SortStableFunc(hosts, func(a, b hostMap) int { return cmp.Compare(a.Host, b.Host) })
	return hosts
}

// processesOf yields the workers of each process, one after the other.
func processesOf(workers []inspect.WorkerInfo) func(yield func([]inspect.WorkerInfo) bool) {
	return func(yield func([]inspect.WorkerInfo) bool) {
		for from := 0; from < len(workers); {
			to := from + 1
			for to < len(workers) && workers[to].Host == workers[from].Host && workers[to].PID == workers[from].PID {
				to++
			}
			if !yield(workers[from:to]) {
				return
			}
			from = to
		}
	}
}

func newProcessMap(of []inspect.WorkerInfo, now time.Time, stuckAfter time.Duration) processMap {
	first := of[0]
	p := processMap{PID: first.PID, Service: first.Service, Version: first.Version, Worker: first.ID, Alive: true,
		Up: first.Uptime()}
	groups := map[string]int{} // processors, by those that have them
	for _, w := range of {
		id := cmp.Or(w.Group, w.ID)
		groups[id] = max(groups[id], w.Concurrency)
		p.Alive = p.Alive && w.Alive
		p.Wanted = cmp.Or(p.Wanted, w.Wanted)
		p.Load += w.Load.One
		for _, label := range w.Labels {
			if !slices.Contains(p.Labels, label) {
				p.Labels = append(p.Labels, label)
			}
		}
		for _, job := range w.Running {
			p.Busy++
			p.Cells = append(p.Cells, newProcessorCell(job, w.Alive, now, stuckAfter))
		}
	}
	for _, n := range groups {
		p.Total += n
	}
	p.Total = max(p.Total, p.Busy) // more are held than run
	p.More = max(0, p.Total-cellsMapped)
	p.Cells = p.Cells[:min(len(p.Cells), cellsMapped)]
	for len(p.Cells) < min(p.Total, cellsMapped) {
		p.Cells = append(p.Cells, processorCell{Class: "idle"})
	}
	return p
}

func newProcessorCell(job inspect.RunningJob, alive bool, now time.Time, stuckAfter time.Duration) processorCell {
	c := processorCell{Class: "busy", Link: format.Link("job", "id", job.ID),
		Text: fmt.Sprintf("%s, job %s, for %s", job.Name, format.Shorten(job.ID, 80), format.Span(job.Age(now)))}
	switch {
	case !alive:
		c.Class, c.Text = "lost", c.Text+", its worker has no heartbeat"
	case alerts.Stuck(job, now, stuckAfter):
		c.Class, c.Text = "stuck", c.Text+", stuck?"
	}
	return c
}
