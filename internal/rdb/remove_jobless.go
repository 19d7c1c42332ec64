package rdb

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/redisconn"
)

// RemoveRecordless removes what is kept of jobs that have no record: their entries in trail, crashes and names. It
// reads a part of each, beginning at cursors and leaving there where the next call begins; a walk that has ended leaves
// none.
func (s *Store) RemoveRecordless(ctx context.Context, cursors map[string]string) (removed int, err error) {
	for _, name := range []string{"trail", "crashes", "names", "keyed"} {
		n, err := s.removeJobless(ctx, []joblessPart{{hash: s.FullName(name), of: s.keys.jobs}}, cursors)
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// RemoveJoblessCheckIns removes check-ins of jobs that their workers do not hold any more, a part of each worker's at a
// time as RemoveRecordless does. A key that is broken is told when the others were looked at.
func (s *Store) RemoveJoblessCheckIns(ctx context.Context, workers []string, cursors map[string]string) (removed int,
	err error) {
	parts := make([]joblessPart, len(workers))
	for i, id := range workers {
		parts[i] = joblessPart{hash: s.CheckIns(id), of: s.keys.claimed, worker: id}
	}
	return s.removeJobless(ctx, parts, cursors)
}

// CheckIns is the key of the check-ins of a worker, under which RemoveJoblessCheckIns keeps its cursor.
func (s *Store) CheckIns(worker string) string { return s.keys.worker(worker).running }

// joblessPart is a hash whose entries belong to those of another one, all or those of a worker.
type joblessPart struct{ hash, of, worker string }

// removeJobless takes one step in each hash. It moves the cursors before it removes anything: what a failed call leaves
// is met when the walk comes round again. The scripts look again before they remove, so what came meanwhile stays.
func (s *Store) removeJobless(ctx context.Context, parts []joblessPart, cursors map[string]string) (removed int,
	err error) {
	const part = 100 // entries may be large, and only their names are wanted
	scans := make([]redisconn.Call, len(parts))
	for i, p := range parts {
		cursor := cursors[p.hash]
		if cursor == "" {
			cursor = "0"
		}
		scans[i] = redisconn.Call{Command: "HSCAN", Args: []any{p.hash, cursor, "COUNT", part}}
	}
	replies, err := s.pipelines(ctx, maxPipeline, scans)
	if err != nil {
		return 0, err
	}
	var problems []error
	var sheds []redisconn.Call
	for i, p := range parts {
		delete(cursors, p.hash)
		if replies[i].Err != nil {
			problems = append(problems, replies[i].Err)
			continue
		}
		next, page, _, err := parseFields("HSCAN", replies[i].Value)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if next != "0" {
			cursors[p.hash] = next
		}
		sheds = append(sheds, p.calls(page)...)
	}
	replies, err = s.pipelines(ctx, maxPipeline, sheds)
	for _, reply := range replies {
		gone, _ := reply.Value.(int64)
		removed += int(gone)
		problems = append(problems, reply.Err)
	}
	return removed, excerpt.Join(append(problems, err)...)
}

func (p joblessPart) calls(page []Field) (calls []redisconn.Call) {
	for fields := range slices.Chunk(page, MaxBatch) {
		args := append(make([]any, 0, 1+len(fields)), p.worker)
		for _, field := range fields {
			args = append(args, field.Name)
		}
		calls = append(calls, redisconn.Call{Script: removeJoblessScript, Keys: []string{p.hash, p.of}, Args: args})
	}
	return calls
}
