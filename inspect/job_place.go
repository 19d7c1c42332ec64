package inspect

import (
	"context"
	"slices"
	"strconv"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/rdb"
)

// place is where jobs of one state stand: a shelf, a queue, what is claimed, or what is kept of those that have ended.
type place struct {
	view   *view // its partition
	state  work.State
	name   string // of the queue; of claims "" is any
	newest bool   // it is read from its end
	length int
}

// portion is what was read of a place.
type portion struct {
	jobs   []rdb.SeenJob
	ahead  func(n int) int              // how many run before the n-th; nil where they do not stand in a queue
	behind func(n int) (position, bool) // where to go on behind the first n; false at the end of the place
}

// read reads up to n jobs of a place.
func (v *view) read(ctx context.Context, at *place, from position, n int) (portion, error) {
	switch at.state {
	case work.StateQueued:
		return v.readQueue(ctx, at, from, n)
	case work.StateRunning:
		return v.readClaims(ctx, at, from, n)
	}
	if at.hasEnded() {
		return v.readEnded(ctx, at, from, n)
	}
	cursor := rdb.ShelfCursor{Newest: at.newest, Score: from.Score, ID: from.ID}
	jobs, err := v.store.ShelfPage(ctx, selectable[at.state], &cursor, n+1) // one more tells whether there are more
	return portionOf(jobs, n, positionOf), err
}

// positionOf is behind a job.
func positionOf(last *rdb.SeenJob) position { return position{Score: last.Score, ID: last.ID} }

// portionOf is one of up to n jobs; what is more is left for the next one.
func portionOf(jobs []rdb.SeenJob, n int, markOf func(last *rdb.SeenJob) position) portion {
	return portion{jobs: jobs[:min(n, len(jobs))], behind: func(n int) (position, bool) {
		if n == len(jobs) {
			return position{}, false
		}
		return markOf(&jobs[n-1]), true
	}}
}

func (v *view) readQueue(ctx context.Context, at *place, from position, n int) (portion, error) {
	length, err := v.store.Length(ctx, at.name, "")
	if at.length = length; err != nil {
		return portion{}, err
	}
	if from.Line == nil && from.Score != "" {
		return v.readTurns(ctx, at, from, n)
	}
	cursor := rdb.QueueCursor{Newest: at.newest}
	if from.Line != nil {
		cursor = *from.Line
	}
	part, err := v.store.ReadQueue(ctx, at.name, cursor, n)
	byTurns := length > part.Length
	if err != nil || byTurns && len(part.Jobs) == 0 {
		if err != nil {
			return portion{}, err
		}
		return v.readTurns(ctx, at, position{}, n)
	}
	return portion{jobs: part.Jobs, ahead: part.Ahead, behind: func(n int) (position, bool) {
		if line, more := part.Behind(n); more {
			return position{Line: &line}, true
		}
		return position{Score: beforeTurns}, byTurns
	}}, nil
}

// beforeTurns is the mark behind the list of a queue, before those that wait by turns.
const beforeTurns = "-1"

// readTurns reads up to n jobs of a queue that wait by turns. They come behind those in the list of the queue.
func (v *view) readTurns(ctx context.Context, at *place, from position, n int) (portion, error) {
	cursor := rdb.ShelfCursor{Newest: at.newest, Score: from.Score, ID: from.ID}
	if from.Score == beforeTurns {
		cursor.Score = ""
	}
	jobs, err := v.store.Turns(ctx, at.name, &cursor, n+1)
	return portionOf(jobs, n, positionOf), err
}

func (v *view) readClaims(ctx context.Context, at *place, from position, n int) (portion, error) {
	ms, _ := strconv.ParseInt(from.Score, 10, 64) // "" is the beginning
	claims, total, err := v.store.ClaimPage(ctx, at.name, rdb.ClaimCursor{Newest: at.newest, At: ms, ID: from.ID}, n+1)
	at.length = total
	jobs := make([]rdb.SeenJob, len(claims))
	for k, claim := range claims {
		since := claim.Since.UnixMilli()
		jobs[k] = rdb.SeenJob{JobPlace: rdb.JobPlace{ID: claim.ID, Queue: claim.Queue,
			Score: strconv.FormatInt(since, 10)}, At: since}
	}
	return portionOf(jobs, n, positionOf), err
}

// readEnded reads up to n jobs of a place where jobs have ended.
func (v *view) readEnded(ctx context.Context, at *place, from position, n int) (portion, error) {
	cursor := rdb.ShelfCursor{Newest: at.newest, Score: from.Score, ID: from.ID}
	jobs, err := v.store.EndedPage(ctx, endedShelf(at.state, at.name), &cursor, n+1)
	return portionOf(jobs, n, positionOf), err
}

// hasEnded tells whether jobs of a place have ended.
func (at *place) hasEnded() bool { return slices.Contains(endedStates, at.state) }

// listedJob is a job that was seen in a place.
type listedJob struct {
	id    string
	state work.State
	ahead int    // how many run before it in its partition, where that is known; else -1
	score string // of one that has ended
	of    *place // where a search has found it
}

// described looks at jobs once more and tells all of each. Those that are not as wanted any more are left out. One that
// cannot be looked at says why, and hides no other.
func (v *view) described(ctx context.Context, seen []listedJob, wanted func(*JobInfo) bool) ([]*JobInfo, error) {
	ids := make([]string, len(seen))
	for n := range seen {
		ids[n] = seen[n].id
	}
	infos := make([]*JobInfo, 0, len(seen))
	err := v.lookUp(ctx, ids, v.store.LookupWithoutPosition, func(n int, found *rdb.Found) {
		if found.Where == rdb.WhereQueue {
			found.Waits.Before = seen[n].ahead
		}
		info, err := newJobInfo(found)
		switch {
		case err != nil:
			infos = append(infos, v.placed(&JobInfo{ID: seen[n].id, State: seen[n].state, Problem: err.Error()}))
		case info != nil && wanted(info):
			infos = append(infos, v.placed(info))
		}
	})
	return infos, err
}
