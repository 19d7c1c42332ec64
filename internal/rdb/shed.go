package rdb

import "context"

// ShedRecordless removes what is kept of jobs that have no record: their entries in trail, crashes and names. It reads a
// part of each, beginning at cursors and leaving there where the next call begins; a walk that has ended leaves none.
func (s *Store) ShedRecordless(ctx context.Context, cursors map[string]string) (removed int, err error) {
	for _, name := range []string{"trail", "crashes", "names"} {
		n, err := s.shedPart(ctx, s.FullName(name), s.keys.jobs, "", cursors)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// ShedCheckIns removes check-ins of jobs that the worker does not hold any more, a part at a time as ShedRecordless does.
func (s *Store) ShedCheckIns(ctx context.Context, worker string, cursors map[string]string) (removed int, err error) {
	return s.shedPart(ctx, s.keys.worker(worker).running, s.keys.claimed, worker, cursors)
}

func (s *Store) shedPart(ctx context.Context, hash, of, worker string, cursors map[string]string) (int, error) {
	cursor := cursors[hash]
	if cursor == "" {
		cursor = "0"
	}
	const part = 100 // entries may be large, and only their names are wanted
	value, err := Do(ctx, s.driver, Call{Command: "HSCAN", Args: []any{hash, cursor, "COUNT", part}})
	if err != nil {
		return 0, err
	}
	next, page, _, err := parseFields("HSCAN", value)
	if err != nil {
		return 0, err
	}
	cursors[hash] = next
	if next == "0" {
		delete(cursors, hash)
	}
	removed := 0
	for len(page) > 0 {
		n := min(len(page), MaxBatch)
		args := append(make([]any, 0, 1+n), worker)
		for _, field := range page[:n] {
			args = append(args, field.Name)
		}
		page = page[n:]
		value, err := Do(ctx, s.driver, Call{Script: shedScript, Keys: []string{hash, of}, Args: args})
		if err != nil {
			return removed, err
		}
		gone, _ := value.(int64)
		removed += int(gone)
	}
	return removed, nil
}
