package inspect

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/rdb"
)

// keysWalk is one page of keys under way. Each partition finds some, in its own order; then all are asked about these.
type keysWalk struct {
	opts KeysOptions
	from keysCursor
}

// keysPart is what a partition has found.
type keysPart struct {
	line  rdb.KeyLine
	keys  []rdb.KeyState
	mark  keysMark
	known map[string]*rdb.KeyState // of all keys that were found anywhere
}

// rounds bounds how often a page looks further where it has not found enough keys that are still there, or that were
// not told before.
const rounds = 8

func (w *keysWalk) page(ctx context.Context, views []*view) (KeyPage, error) {
	found := ask(ctx, views, w.read)
	var all []string
	for n := range found {
		for _, state := range found[n].value.keys {
			all = append(all, state.Key)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(views) > 1 {
		w.compare(ctx, found, all)
	}
	page := KeyPage{Keys: w.merge(found)}
	next := keysCursor{Name: w.opts.Name}
	more := false
	for n := range found {
		part := &found[n].value
		if found[n].err != nil {
			part.mark = w.from.markOf(found[n].from.partition)
		}
		more = more || part.mark.List != listOver
		next.Marks = append(next.Marks, part.mark)
		page.InLine += part.line.Keys
		page.Waiting += part.line.Waiting + part.line.Parked
		page.Parked += part.line.Parked
		page.Running += part.line.Held
		page.Keyless += part.line.Listed
	}
	for n := range page.Keys {
		page.Keys[n].Share = min(1, float64(page.Keys[n].Running)/float64(max(1, page.Running)))
	}
	if more {
		page.Next = encodeCursor(next)
	}
	return page, failure(found)
}

// compare asks each partition about the keys that others have found.
func (w *keysWalk) compare(ctx context.Context, found []answer[keysPart], all []string) {
	var views []*view
	at := map[*view]*answer[keysPart]{}
	for n := range found {
		if found[n].err == nil {
			views = append(views, found[n].from)
			at[found[n].from] = &found[n]
		}
	}
	told := ask(ctx, views, func(v *view, ctx context.Context) ([]rdb.KeyState, error) {
		return v.keyStates(ctx, &at[v].value.line, all)
	})
	for n := range told {
		of := at[told[n].from]
		of.err, of.value.known = told[n].err, make(map[string]*rdb.KeyState, len(told[n].value))
		for k := range told[n].value {
			of.value.known[told[n].value[k].Key] = &told[n].value[k]
		}
	}
}

// keyStates reads what there is of any number of keys.
func (v *view) keyStates(ctx context.Context, line *rdb.KeyLine, keys []string) (all []rdb.KeyState, err error) {
	for part := range slices.Chunk(keys, rdb.MaxBatch) {
		states, err := v.store.KeyStates(ctx, line, part)
		if err != nil {
			return nil, err
		}
		all = append(all, states...)
	}
	return all, nil
}

// merge tells each key once: where most of its jobs wait.
func (w *keysWalk) merge(found []answer[keysPart]) []KeyInfo {
	keys := []KeyInfo{}
	for n := range found {
		if found[n].err != nil {
			continue
		}
		for _, state := range found[n].value.keys {
			info := KeyInfo{Key: state.Key, Exact: true}
			home := n
			info.add(&state)
			for m := range found {
				other := found[m].value.known[state.Key]
				if m == n || other == nil {
					continue
				}
				info.add(other)
				more := cmp.Or(cmp.Compare(other.Waiting, state.Waiting), cmp.Compare(other.Running, state.Running))
				if more > 0 || more == 0 && m < n && (!other.Idle() || other.Restraint.Own) {
					home = m
				}
			}
			if home == n {
				keys = append(keys, info)
			}
		}
	}
	byNoise(keys)
	return keys
}

// add adds what one partition has of the key.
func (k *KeyInfo) add(state *rdb.KeyState) {
	k.Weight = cmp.Or(k.Weight, state.Weight)
	k.Waiting, k.Parked, k.Running = k.Waiting+state.Waiting, k.Parked+state.Parked, k.Running+state.Running
	k.Exact = k.Exact && state.Exact
	if r := &state.Restraint; k.Waiting > 0 || k.Running > 0 || r.Own {
		k.restrained(r, state.Waiting > 0)
	}
}

// restrained notes what restrains the key in one partition. All of a key that is limited is in one.
func (k *KeyInfo) restrained(r *rdb.Restraint, waits bool) {
	if r.Rule.Limit != (rdb.Limit{}) {
		k.Limit = work.Limit(limit.SpecOf(r.Rule.Limit))
	}
	k.Ordered, k.Stopped = k.Ordered || r.Rule.Ordered, k.Stopped || r.Rule.Stopped
	k.Operator = k.Operator || r.Own
	if r.Bad != nil {
		k.Problem = r.Bad.Error()
	}
	if waits && k.Why == nil {
		k.Why = whyParked(r)
	}
}

// read finds the keys of one partition.
func (w *keysWalk) read(v *view, ctx context.Context) (p keysPart, err error) {
	p.mark = w.from.markOf(v.partition)
	if p.line, err = v.store.KeyLine(ctx, w.opts.Name); err != nil {
		return p, err
	}
	if p.mark.List == listFirst {
		if err = w.loudest(ctx, v, &p); err != nil {
			return p, err
		}
	}
	for range rounds {
		if p.mark.List == listOver || len(p.keys) >= w.opts.Limit {
			break
		}
		if err = w.further(ctx, v, &p); err != nil {
			return p, err
		}
	}
	return p, nil
}

// loudest finds the keys with the most parked jobs, for half of the first page. What is kept of that is one number, by
// which the lists that follow pass by these keys: so all that have as many are taken, or none.
func (w *keysWalk) loudest(ctx context.Context, v *view, p *keysPart) error {
	keys, atLeast, err := v.store.KeysMostParked(ctx, &p.line)
	if err != nil {
		return err
	}
	states, err := v.keyStates(ctx, &p.line, keys)
	if err != nil {
		return err
	}
	slices.SortStableFunc(states, func(a, b rdb.KeyState) int { return cmp.Compare(b.Parked, a.Parked) })
	if most := max(1, w.opts.Limit/2); len(states) > most {
		atLeast = max(atLeast, states[most].Parked+1)
	}
	if len(states) == 0 {
		atLeast = math.MaxInt32 // whatever is parked later was not told
	}
	p.mark.Told, p.mark.List = atLeast, listByTurn
	p.keys = slices.DeleteFunc(states, func(state rdb.KeyState) bool { return state.Parked < p.mark.Told })
	return nil
}

// further finds more keys in the list that is read now.
func (w *keysWalk) further(ctx context.Context, v *view, p *keysPart) error {
	list := map[keyList]func(context.Context, *rdb.KeyLine, *rdb.KeyCursor, int) ([]string, error){
		listByTurn: v.store.KeysByTurn, listParked: v.store.KeysParked, listHeld: v.store.KeysHeld,
		listRuled: v.store.KeysRuled}[p.mark.List]
	cursor := rdb.KeyCursor{Pass: p.mark.Pass, Key: p.mark.Key}
	keys, err := list(ctx, &p.line, &cursor, w.opts.Limit-len(p.keys))
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		p.mark = keysMark{Partition: p.mark.Partition, List: p.mark.List + 1, Told: p.mark.Told}
		return nil
	}
	p.mark.Pass, p.mark.Key = cursor.Pass, cursor.Key
	states, err := v.keyStates(ctx, &p.line, keys)
	for _, state := range states {
		if !p.mark.told(&state) {
			p.keys = append(p.keys, state)
		}
	}
	return err
}

// told tells whether a key of this list is told elsewhere, or nothing is there of it.
func (m *keysMark) told(state *rdb.KeyState) bool {
	switch {
	case m.List == listRuled:
		return !state.Idle()
	case state.Idle(), state.Parked >= m.Told:
		return true
	case m.List == listByTurn:
		return false
	case m.List == listParked:
		return state.InLine
	}
	return state.InLine || state.Parked > 0
}
