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
func (i *Inspector) read(ctx context.Context, at *place, from position, n int) (portion, error) {
	switch at.state {
	case work.StateQueued:
		return i.readQueue(ctx, at, from, n)
	case work.StateRunning:
		return i.readClaims(ctx, at, from, n)
	}
	if at.hasEnded() {
		return i.readEnded(ctx, at, from, n)
	}
	cursor := rdb.ShelfCursor{Newest: at.newest, Score: from.Score, ID: from.ID}
	jobs, err := i.store.ShelfPage(ctx, selectable[at.state], &cursor, n+1) // one more tells whether there are more
	return portionOf(jobs, n, func(last *rdb.SeenJob) position { return position{Score: last.Score, ID: last.ID} }), err
}

// portionOf is one of up to n jobs; what is more is left for the next one.
func portionOf(jobs []rdb.SeenJob, n int, markOf func(last *rdb.SeenJob) position) portion {
	return portion{jobs: jobs[:min(n, len(jobs))], behind: func(n int) (position, bool) {
		if n == len(jobs) {
			return position{}, false
		}
		return markOf(&jobs[n-1]), true
	}}
}

func (i *Inspector) readQueue(ctx context.Context, at *place, from position, n int) (portion, error) {
	cursor := rdb.QueueCursor{Newest: at.newest}
	if from.Line != nil {
		cursor = *from.Line
	}
	part, err := i.store.ReadQueue(ctx, at.name, cursor, n)
	at.length = part.Length
	return portion{jobs: part.Jobs, ahead: part.Ahead, behind: func(n int) (position, bool) {
		line, more := part.Behind(n)
		return position{Line: &line}, more
	}}, err
}

func (i *Inspector) readClaims(ctx context.Context, at *place, from position, n int) (portion, error) {
	ms, _ := strconv.ParseInt(from.Score, 10, 64) // "" is the beginning
	claims, total, err := i.store.ClaimPage(ctx, at.name, rdb.ClaimCursor{Newest: at.newest, At: ms, ID: from.ID}, n+1)
	at.length = total
	jobs := make([]rdb.SeenJob, len(claims))
	for k, claim := range claims {
		jobs[k] = rdb.SeenJob{JobPlace: rdb.JobPlace{ID: claim.ID, Queue: claim.Queue}, At: claim.Since.UnixMilli()}
	}
	return portionOf(jobs, n, func(last *rdb.SeenJob) position {
		return position{Score: strconv.FormatInt(last.At, 10), ID: last.ID}
	}), err
}

// readEnded reads up to n jobs of a place where jobs have ended.
func (i *Inspector) readEnded(ctx context.Context, at *place, from position, n int) (portion, error) {
	cursor := rdb.ShelfCursor{Newest: at.newest, Score: from.Score, ID: from.ID}
	jobs, err := i.store.EndedPage(ctx, endedShelf(at.state, at.name), &cursor, n+1)
	return portionOf(jobs, n, func(last *rdb.SeenJob) position { return position{Score: last.Score, ID: last.ID} }), err
}

// hasEnded tells whether jobs of a place have ended.
func (at *place) hasEnded() bool { return slices.Contains(endedStates, at.state) }

// listedJob is a job that was seen in a place.
type listedJob struct {
	id    string
	state work.State
	ahead int    // how many run before it, where that is known; else -1
	score string // of one that has ended
	of    *place // where a search has found it
}

// described looks at jobs once more and tells all of each. Those that are not as wanted any more are left out. One that
// cannot be looked at says why, and hides no other.
func (i *Inspector) described(ctx context.Context, seen []listedJob, wanted func(*JobInfo) bool) ([]*JobInfo, error) {
	ids := make([]string, len(seen))
	for n := range seen {
		ids[n] = seen[n].id
	}
	infos := make([]*JobInfo, 0, len(seen))
	err := i.lookUp(ctx, ids, i.store.LookupWithoutPosition, func(n int, found *rdb.Found) {
		if found.Where == rdb.WhereQueue {
			found.Waits.Before = seen[n].ahead
		}
		info, err := newJobInfo(found)
		switch {
		case err != nil:
			infos = append(infos, &JobInfo{ID: seen[n].id, State: seen[n].state, Problem: err.Error()})
		case info != nil && wanted(info):
			infos = append(infos, info)
		}
	})
	return infos, err
}
