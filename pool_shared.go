package work

import (
	"context"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"sync/atomic"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/resize"
	"github.com/265d0351/work/internal/subscription"
)

// Jobs of several names may share a queue: see JobOptions.Queue. Which names do stands in the map of the namespace, so
// that all who store jobs know it; a job says in its record in which queue it was put. So workers run it wherever it
// waits: they serve all queues in which jobs of their names are or were, and find the handler by the record. What they
// have no handler for they hand on, to a queue that only workers with one serve.

// collectShared makes the queues that the registered names share by their options, and returns what is wrong with them.
func (p *WorkerPool) collectShared() (mistakes []error) {
	p.shared.Forget() // a start that has failed may have left some
	merged := map[string]JobOptions{}
	for _, name := range slices.Sorted(maps.Keys(p.registered)) {
		registration := p.registered[name]
		queue := registration.options.Queue
		if queue == "" {
			continue
		}
		job := fmt.Sprintf("job %s (registered at %s)", excerpt.Brief(name), registration.site)
		if other := p.registered[queue]; other != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", job, &InvalidError{What: "JobOptions.Queue",
				Value:  excerpt.Brief(queue) + ", which is the name of a job, registered at " + other.site,
				Remedy: "give the queue a name that no job has"}))
			continue
		}
		options, mistake := merged[queue].and(registration.options)
		if mistake != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", job, mistake))
		}
		merged[queue] = options
	}
	for queue, options := range merged {
		p.addShared(queue, options.withDefaults())
	}
	return mistakes
}

// addShared adds a queue that was not known, with the options of its jobs: as a registration without a handler.
func (p *WorkerPool) addShared(name string, options JobOptions) {
	p.shared.Add(name, &registration{name: name, site: "its names", options: options, withdrawn: &atomic.Bool{},
		labels: pprof.WithLabels(context.Background(), pprof.Labels("job", name)),
		quota:  subscription.NewQuota(options.MaxRunning)})
}

// declareShared has new jobs of names that are served wait in the queues that the code says. Nothing is asked of Redis
// where that is so already.
func (p *WorkerPool) declareShared(ctx context.Context, names []string) error {
	queues := make(map[string]string, len(names))
	for _, name := range names {
		queues[name] = p.registered[name].options.Queue
	}
	return asInvalid(resize.Share(ctx, p.directory, queues))
}

// followShared has the workers serve all queues in which jobs of their names are or were by a map, and tells whether
// these are more than before. One goroutine at a time calls it.
func (p *WorkerPool) followShared(m *partition.Map) (more bool) {
	if len(m.Queues) == 0 && len(p.shared.All()) == 0 {
		return false
	}
	queues := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.registered)) {
		registration := p.registered[name]
		all := m.SharedBy(name)
		if registration.options.Queue != "" {
			all = append(all, registration.options.Queue)
		}
		for _, queue := range all {
			if p.registered[queue] != nil {
				continue
			}
			if p.shared.Of(queue) == nil {
				p.addShared(queue, JobOptions{Priority: registration.options.Priority}.withDefaults())
			}
			queues[name] = append(queues[name], queue)
		}
	}
	return p.serving.Share(queues)
}
