package rdb_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/265d0351/work/internal/rdb"
)

// suspect has a worker name a job that it is about to begin, perhaps one that is no longer its own.
func (m *machine) suspect(t *rapid.T) {
	m.suspectOn(t, m.choose(t, "worker", func(a *actor) bool { return len(a.held) > 0 }))
}

func (m *machine) suspectOn(t *rapid.T, a *actor) {
	element := rapid.SampledFrom(slices.Sorted(maps.Keys(a.held))).Draw(t, "job")
	id, claim := a.id, a.held[element].Claim
	m.request(t, step{
		title: id + " suspects " + element,
		send: func(store *rdb.Store) (any, error) {
			return store.Worker(id).Suspect(background, claim)
		},
		execute: func() any {
			if m.serves[id] == nil || !slices.Contains(m.inProcess[id][claim.Queue], element) {
				return false
			}
			m.suspects[id] = element
			return true
		},
	})
}
