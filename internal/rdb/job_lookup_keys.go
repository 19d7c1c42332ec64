package rdb

import "context"

// restrained notes, of jobs that were found parked, what their keys wait for. It costs three requests for each queue of
// such jobs, and nothing where there are none.
func (l *lookup) restrained(ctx context.Context) error {
	parked := map[string][]int{}
	for i := range l.found {
		f := &l.found[i]
		if f.Err == nil && f.Where == WhereQueue && f.Pass != "" && parseScore(f.Pass) >= parkedFrom {
			parked[l.hints[i].queue] = append(parked[l.hints[i].queue], i)
		}
	}
	for queue, of := range parked {
		ids := make([]string, len(of))
		for n, i := range of {
			ids[n] = l.ids[i]
		}
		line, err := l.store.lineOf(ctx, queue)
		if err != nil || !line.known() {
			return err
		}
		turns, err := l.store.turnsOf(ctx, ids)
		if err != nil {
			return err
		}
		keys := make([]string, len(turns))
		for n := range turns {
			keys[n] = turns[n].Key
		}
		restraints, err := l.store.KeyRestraints(ctx, &line, keys)
		if err != nil {
			return err
		}
		for n, i := range of {
			l.found[i].Waits.Parked = &restraints[n]
		}
	}
	return nil
}
