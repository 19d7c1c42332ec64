package resize

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// open decides a map with the wanted number of open partitions. What is paused is so in those that are added before any
// job is stored there, and what is resumed meanwhile is so there too:
//
//   - First they are draining, by a map that all know in the end: nothing goes there yet, but who pauses or resumes a
//     queue does so there as well, and who goes by an older map is refused everywhere.
//   - So all that was said by an older map is to be read now in the others. It is said in those that are added, under
//     its own version: it undoes nothing that was said since.
//   - Then they are opened, by the next version of the map: another one in between may have closed and added them anew.
func (r *resizing) open(ctx context.Context, first bool) error {
	for ; ; first = false {
		if err := r.announce(ctx, first); err != nil {
			return err
		}
		by := r.directory.Map()
		if slices.ContainsFunc(by.In(partition.Closed), func(i int) bool { return i < r.n }) {
			continue // another one was faster, and has closed them
		}
		err := r.carryPauses(ctx, by)
		var newer *rdb.RouteError
		if errors.As(err, &newer) {
			err = r.directory.Refresh(ctx)
		}
		if err != nil {
			return err
		}
		limited, err := limitedNames(ctx, r.directory)
		if err != nil {
			return err
		}
		overtaken := false
		err = decide(ctx, r.directory, func(m *partition.Map) bool {
			if overtaken = m.Version != by.Version; overtaken || asWanted(m, r.n) && m.Wanted == r.n && m.Tracking {
				return false
			}
			bound := slices.DeleteFunc(slices.Clone(limited), m.Limited)
			m.Bound = slices.Sorted(slices.Values(append(bound, m.Bound...)))
			*m = *Wanted(m, r.n)
			m.Wanted, m.Tracking = r.n, true
			return true
		})
		if err != nil || !overtaken {
			return err
		}
	}
}

// announce decides a map in which those that are to be added get controls, and nothing else.
func (r *resizing) announce(ctx context.Context, first bool) error {
	other, shared := -1, false
	err := decide(ctx, r.directory, func(m *partition.Map) bool {
		shared = r.n > 1 && len(m.Queues) > 0
		if other = r.superseded(m, first); other >= 0 || shared {
			return false
		}
		if len(m.States) == 0 {
			m.States = []partition.State{partition.Open}
		}
		added := false
		for i := range r.n {
			switch {
			case i >= len(m.States):
				m.States = append(m.States, partition.Draining)
			case m.States[i] == partition.Closed:
				m.States[i] = partition.Draining
			default:
				continue
			}
			added = true
		}
		m.Wanted = r.n
		return added
	})
	switch {
	case err != nil:
		return err
	case shared:
		return ErrShared
	case other >= 0:
		return &SupersededError{Wanted: other}
	}
	return nil
}

// carryPauses says in those that are to be opened what was said last in any partition.
func (r *resizing) carryPauses(ctx context.Context, by *partition.Map) error {
	served, last := map[int]map[string]rdb.Pause{}, map[string]rdb.Pause{}
	for _, i := range by.Served() {
		pauses, err := r.directory.Store(i).Pauses(ctx)
		if err != nil {
			return at(i, err)
		}
		served[i] = pauses
		for name, pause := range pauses {
			if known, said := last[name]; !said || pause.Newer(known) {
				last[name] = pause
			}
		}
	}
	for i := range r.n {
		if by.State(i) != partition.Draining {
			continue
		}
		var told []rdb.Pause
		for name, pause := range last {
			if served[i][name] != pause {
				told = append(told, pause)
			}
		}
		if err := say(ctx, r.directory.Store(i).AtMap(by.Version), told); err != nil {
			return at(i, err)
		}
	}
	return nil
}

// RepeatPauses says in a partition that may have lost what it had what was said last of queues in any of the others,
// under its own version: it undoes nothing that was said since. Where one of those cannot be asked the rest is said,
// and it is an error: call it again.
func RepeatPauses(ctx context.Context, directory *partition.Directory, i int) error {
	m := directory.Map()
	ask := func(ctx context.Context, from int) (map[string]rdb.Pause, error) {
		ctx, cancel := context.WithTimeout(ctx, repeatPatience)
		defer cancel()
		return directory.Store(from).Pauses(ctx)
	}
	answers, failed := partition.Each(ctx, m.Served(), ask, nil)
	known, last := map[string]rdb.Pause{}, map[string]rdb.Pause{}
	for at, from := range m.Served() {
		if failed[at] == nil && from == i {
			known = answers[at]
		}
		for name, pause := range answers[at] {
			if before, said := last[name]; failed[at] == nil && (!said || pause.Newer(before)) {
				last[name] = pause
			}
		}
	}
	var told []rdb.Pause
	for name, pause := range last {
		if known[name] != pause {
			told = append(told, pause)
		}
	}
	return excerpt.Join(append(failed, at(i, say(ctx, directory.Store(i).AtMap(m.Version), told)))...)
}

// repeatPatience is how long RepeatPauses waits for each partition.
const repeatPatience = 5 * time.Second

// say has a partition take controls that were said elsewhere. One whose rule cannot be read there is left out: none of
// its jobs begins.
func say(ctx context.Context, store *rdb.Store, pauses []rdb.Pause) error {
	return limit.Say(ctx, store, pauses, func(_ string, err error) error {
		var unreadable *rdb.RuleError
		if errors.As(err, &unreadable) {
			return nil
		}
		return err
	})
}
