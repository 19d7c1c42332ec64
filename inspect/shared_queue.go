package inspect

import (
	"context"
	"fmt"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
)

// ownQueue refuses what concerns a whole queue for names that share theirs: it would do nothing about the jobs that
// wait there, or all about those of other names as well.
func (i *Inspector) ownQueue(ctx context.Context, names ...string) error {
	i.refresh(ctx)
	m := i.partitions.Map()
	for _, name := range names {
		if queue := m.QueueOf(name); queue != "" {
			return &work.InvalidError{What: "queue " + excerpt.Brief(name),
				Value: fmt.Sprintf("that of jobs which wait in queue %s, with those of other names",
					excerpt.Brief(queue)),
				Remedy: "name that queue, which is about all of these jobs, or select jobs by their name"}
		}
	}
	return nil
}

// ownKeys refuses limits of keys where names share a queue, as their code may have none: in the queue of such a name
// wait none of its jobs, and what a worker without a handler has handed on leaves the others of its key.
func (i *Inspector) ownKeys(ctx context.Context, name string) error {
	if err := i.ownQueue(ctx, name); err != nil {
		return err
	}
	if i.partitions.Map().IsShared(name) {
		return &work.InvalidError{What: "queue " + excerpt.Brief(name),
			Value:  "one of several names, a key of which cannot be limited",
			Remedy: "limit or pause all of the queue, or cancel what the key has with Bulk"}
	}
	return nil
}
