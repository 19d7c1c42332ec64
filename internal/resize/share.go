package resize

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// Share has new jobs of names wait in the queues that these share with others, by name; "" is their own. Who was the
// last to say so counts. Nothing is asked of Redis where none shares one, nor did as far as is known.
//
// Older programs are told that they cannot work here before the first name shares a queue. Jobs that wait already stay
// where they are; those who serve the name look there as well.
func Share(ctx context.Context, directory *partition.Directory, queues map[string]string) error {
	shares := slices.ContainsFunc(slices.Collect(maps.Values(queues)), func(queue string) bool { return queue != "" })
	if !shares && len(directory.Map().Queues) == 0 {
		return nil
	}
	if err := directory.Refresh(ctx); err != nil {
		return err
	}
	if !differs(directory.Map(), queues) {
		return nil
	}
	if shares {
		if err := directory.Store(0).WriteLayout(ctx, rdb.Layout, rdb.SharedQueues); err != nil {
			return err
		}
	}
	var refused error
	err := decide(ctx, directory, func(m *partition.Map) bool {
		if refused = shareable(m, queues); refused != nil || !differs(m, queues) {
			return false
		}
		for name, queue := range queues {
			m.Share(name, queue)
		}
		return true
	})
	if refused != nil {
		return refused
	}
	return err
}

func differs(m *partition.Map, queues map[string]string) bool {
	for name, queue := range queues {
		if m.QueueOf(name) != queue {
			return true
		}
	}
	return false
}

// shareable is what is wrong with names that are to share queues, in a namespace with that map.
func shareable(m *partition.Map, queues map[string]string) error {
	for name, queue := range queues {
		if queue == "" {
			continue
		}
		refuse := func(value, remedy string) error {
			return &invalid.Error{What: "the queue of job " + excerpt.Brief(name), Value: value, Remedy: remedy}
		}
		switch there := m.SharedBy(name); {
		case !m.Single():
			return refuse(excerpt.Brief(queue)+", in a namespace that is divided into partitions",
				"leave Queue out, or use a namespace that is not divided: queues of several names know no partitions "+
					"yet")
		case m.QueueOf(queue) != "":
			return refuse(fmt.Sprintf("%s, while jobs of that name wait in queue %s", excerpt.Brief(queue),
				excerpt.Brief(m.QueueOf(queue))), "give the queue a name that no job has")
		case !slices.Contains(there, queue) && len(there) >= partition.MostShared:
			return refuse(fmt.Sprintf("%s, after %d others", excerpt.Brief(queue), len(there)),
				"give one that it had before: workers look into all of them")
		}
		if shared := m.Sharing(name); len(shared) > 0 {
			return refuse(fmt.Sprintf("%s, while %s has jobs of %s", excerpt.Brief(queue), excerpt.Brief(name),
				excerpt.Names(shared)), "give that queue a name that no job has")
		}
	}
	return nil
}
