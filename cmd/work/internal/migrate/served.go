package migrate

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/excerpt"
)

// mostUnserved is how many names are told of those that nobody serves.
const mostUnserved = 10

// unserved says which of these names no worker here serves: a namespace that was mistyped has none, and jobs that came
// over to it would wait there unseen.
func (t *Target) unserved(ctx context.Context, names map[string]bool) (string, error) {
	if len(names) == 0 {
		return "", nil
	}
	queues, err := t.Inspector.Queues(ctx)
	if err != nil {
		return "", fmt.Errorf("whether they are served cannot be told: %w", err)
	}
	left := maps.Clone(names)
	for n := range queues {
		if queues[n].Workers > 0 {
			forget(left, &queues[n])
		}
	}
	if len(left) == 0 {
		return "", nil
	}
	told := slices.Sorted(maps.Keys(left))
	for n := range told {
		told[n] = excerpt.Brief(told[n])
	}
	if more := len(told) - mostUnserved; more > 0 {
		told = append(told[:mostUnserved:mostUnserved], fmt.Sprintf("%d more", more))
	}
	return "no worker of this namespace serves " + strings.Join(told, ", ") + " now: they wait until one does", nil
}

// forget takes the names of jobs off whose queue this is.
func forget(names map[string]bool, queue *inspect.QueueInfo) {
	delete(names, queue.Name)
	for _, name := range queue.Names {
		delete(names, name)
	}
}
