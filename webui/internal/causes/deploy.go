package causes

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/inspect"
)

// Deploy is when the version of a service began to run that runs now, as far as it is known from its workers: those
// that are alive, and those that have stopped within a week.
type Deploy struct {
	Service string    `json:"service"`
	Version string    `json:"version"`
	At      time.Time `json:"at"` // by the clock of the worker's machine

	names map[string]bool // of the jobs that its workers serve now
}

// start is of one worker.
type start struct {
	service, version string
	at               time.Time
}

// unversioned is what Go calls the version of a program that was built from no tag: one is like the other.
const unversioned = "(devel)"

// deploysOf finds the last change of the version of each service, in the order of the starts of its workers.
func deploysOf(workers []inspect.WorkerInfo, stopped []inspect.StoppedWorker) []Deploy {
	var starts []start
	names := map[string]map[string]bool{}
	for _, w := range workers {
		starts = append(starts, start{w.Service, w.Version, w.Started})
		if names[w.Service] == nil {
			names[w.Service] = map[string]bool{}
		}
		for _, name := range w.Queues {
			names[w.Service][name] = true
		}
	}
	for _, w := range stopped {
		starts = append(starts, start{w.Service, w.Version, w.Started})
	}
	slices.SortStableFunc(starts, func(a, b start) int { return a.at.Compare(b.at) })
	last := map[string]*Deploy{}
	for _, s := range starts {
		if s.version == "" || s.version == unversioned || s.at.IsZero() {
			continue
		}
		if d := last[s.service]; d == nil || d.Version != s.version {
			last[s.service] = &Deploy{Service: s.service, Version: s.version, At: s.at, names: names[s.service]}
		}
	}
	var all []Deploy
	for _, service := range slices.Sorted(maps.Keys(last)) {
		all = append(all, *last[service])
	}
	slices.SortStableFunc(all, func(a, b Deploy) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(a.Service, b.Service))
	})
	return all
}

// Deploys knows the last ones. Its methods may be called concurrently; the zero value knows none.
type Deploys struct {
	mu    sync.Mutex
	known []Deploy
	read  time.Time
}

// deploysFor is for how long they are shown again: to read them costs what grows with workers.
const deploysFor = 30 * time.Second

// Read returns the last deploys, the newest first.
func (d *Deploys) Read(ctx context.Context, i *inspect.Inspector) ([]Deploy, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.read.IsZero() && time.Since(d.read) < deploysFor {
		return d.known, nil
	}
	workers, err := i.Workers(ctx)
	if err != nil {
		return nil, err
	}
	stopped, err := i.StoppedWorkers(ctx, 1000)
	if err != nil {
		return nil, err
	}
	d.known, d.read = deploysOf(workers, stopped), time.Now()
	return d.known, nil
}

// Causes reads what jobs of a name, or of all, fail for: at most so many causes, and how many are left out.
func (d *Deploys) Causes(ctx context.Context, i *inspect.Inspector, name string, most int) ([]Cause, int, error) {
	groups, err := i.Errors(ctx, name)
	if err != nil {
		return nil, 0, err
	}
	all := Of(groups)
	causes := all[:min(len(all), most)]
	hours, err := i.ErrorHours(ctx, digests(causes)...)
	if err != nil {
		return nil, 0, err
	}
	addHours(causes, hours)
	deploys, err := d.Read(ctx, i)
	if err != nil {
		return nil, 0, err
	}
	markNew(causes, deploys)
	return causes, len(all) - len(causes), nil
}
