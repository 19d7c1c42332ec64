// Package partly is for those who show people what an Inspector reads: with a [Missing] in their ctx they get what
// other partitions say without an error, and learn from it at the end which have not answered; an [Outage] is that none
// can. Programs get the errors.
package partly

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/redisconn"
)

// Missing is which partitions have not answered to reads with its ctx. Its methods may be called concurrently.
type Missing struct {
	mu    sync.Mutex
	asked int
	why   map[int]error
}

type key struct{}

// Collect returns a ctx for reads, and what is noted of them.
func Collect(ctx context.Context) (context.Context, *Missing) {
	m := &Missing{why: map[int]error{}}
	return context.WithValue(ctx, key{}, m), m
}

// Note notes that of so many partitions these have not answered. It is false where nobody wants to know it in this way.
func Note(ctx context.Context, asked int, why map[int]error) bool {
	m, is := ctx.Value(key{}).(*Missing)
	if !is {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = max(m.asked, asked)
	maps.Copy(m.why, why)
	return true
}

// Partitions are the numbers of those that have not answered.
func (m *Missing) Partitions() []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.why))
}

// Whole tells whether all partitions have answered to reads with this ctx so far, as far as that is noted.
func Whole(ctx context.Context) bool {
	m, is := ctx.Value(key{}).(*Missing)
	return !is || m.Err() == nil
}

// Err says which partitions have not answered, what that means and why it is; nil where all have.
func (m *Missing) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.why) == 0 {
		return nil
	}
	numbers := slices.Sorted(maps.Keys(m.why))
	names, words := make([]string, len(numbers)), make([]string, len(numbers))
	for i, n := range numbers {
		names[i], words[i] = fmt.Sprint(n), fmt.Sprintf("Partition %d: %v", n, cause(m.why[n]))
	}
	lack := "partition " + names[0] + " holds is missing here: its jobs wait until it is back"
	if last := len(names) - 1; last > 0 {
		lack = "partitions " + strings.Join(names[:last], ", ") + " and " + names[last] +
			" hold is missing here: their jobs wait until they are back"
	}
	return excerpt.Error(fmt.Errorf("only %d of %d partitions have answered. What %s, and jobs of other partitions "+
		"go on. %s", m.asked-len(m.why), m.asked, lack, strings.Join(words, "; ")))
}

// cause is what an operator can do something about: that a server cannot be reached is the same for whatever was read.
func cause(err error) error {
	var dial *redisconn.DialError
	if errors.As(err, &dial) {
		return dial
	}
	return err
}
