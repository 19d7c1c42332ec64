// Package partly is for those who show people what an Inspector reads of several partitions: with a [Missing] in their
// ctx they get what the others say without an error, and learn from it at the end which have not answered. Programs get
// the error beside the rest.
package partly

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/265d0351/work/internal/excerpt"
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

// Err says which partitions have not answered, and why; nil where all have.
func (m *Missing) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.why) == 0 {
		return nil
	}
	words := make([]string, 0, len(m.why))
	for _, n := range slices.Sorted(maps.Keys(m.why)) {
		words = append(words, fmt.Sprintf("partition %d: %v", n, m.why[n]))
	}
	return excerpt.Error(fmt.Errorf("this is what %d of %d partitions have said; %s", m.asked-len(m.why), m.asked,
		strings.Join(words, "; ")))
}
