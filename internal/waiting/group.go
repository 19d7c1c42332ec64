package waiting

import (
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/retry"
)

// Group are the waiters of all partitions of a namespace. It waits for each job where it most likely is, and where it
// is not, in all others; a job that is moved meanwhile is followed. All methods may be called concurrently.
type Group struct {
	parts    *partition.Directory
	closed   error
	panicked func(value any) error

	mu      sync.Mutex
	members map[int]*Waiters
	over    bool
}

// NewGroup returns a group whom nobody has joined. See New.
func NewGroup(parts *partition.Directory, closed error, panicked func(value any) error) *Group {
	return &Group{parts: parts, closed: closed, panicked: panicked, members: map[int]*Waiters{}}
}

// In are the waiters in one partition.
func (g *Group) In(number int) *Waiters {
	g.mu.Lock()
	defer g.mu.Unlock()
	member := g.members[number]
	if member == nil {
		member = New(g.parts.Guarded(number), g.closed, g.panicked)
		if g.over {
			member.end(g.closed)
		}
		g.members[number] = member
	}
	return member
}

// Close ends all waits.
func (g *Group) Close() {
	first := g.In(0) // whose life readers of completion queues look at
	g.mu.Lock()
	g.over = true
	var members []*Waiters
	for _, member := range g.members {
		members = append(members, member)
	}
	g.mu.Unlock()
	for _, member := range members {
		member.Close()
	}
	first.Close()
}

// Wait tells the ends of jobs as they come, until all have ended or enough is true. Each id is to be there once. It
// returns why it did not get there: the cause of ctx, with what was wrong with Redis until then, or that of Close.
func (g *Group) Wait(ctx context.Context, ids []string, enough func(End) bool) error {
	if err := context.Cause(g.In(0).life); err != nil {
		return excerpt.Error(err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &search{group: g, ids: ids, jobs: make(map[string]*sought, len(ids)), filled: make(chan struct{}, 1)}
	defer s.waits.Wait()
	defer cancel(nil)
	s.begin(ctx, ids)
	var looks <-chan time.Time
	if g.parts.Map().Version == 0 {
		ticker := time.NewTicker(discoveryPause)
		defer ticker.Stop()
		looks = ticker.C
	}
	for {
		if s.takeAll(ctx, enough) || len(s.jobs) == 0 {
			return nil
		}
		var cause error
		select {
		case <-s.filled:
			continue
		case <-looks:
			s.discover(ctx)
			continue
		case <-ctx.Done():
			cause = context.Cause(ctx)
		case <-g.In(0).life.Done():
			cause = context.Cause(g.In(0).life)
		}
		trouble := s.trouble()
		cancel(nil)
		s.waits.Wait() // what has come is not lost
		if s.takeAll(ctx, enough) || len(s.jobs) == 0 {
			return nil
		}
		return stillWaiting(ids, s.left(), retry.JoinCause(cause, trouble))
	}
}

// discover looks for a map, for one who knows of none while the first partition cannot be asked.
func (s *search) discover(ctx context.Context) {
	if s.group.parts.Map().Version > 0 || s.group.In(0).lastTrouble() == nil {
		return
	}
	s.waits.Go(func() {
		if s.group.parts.Discover(ctx) {
			s.tell(foundEnd{again: s.ids})
		}
	})
}

// discoveryPause is how long the first partition may be away before others are asked for a map.
const discoveryPause = time.Second

// search is one call of Wait.
type search struct {
	group *Group
	ids   []string
	jobs  map[string]*sought // that have not ended
	waits sync.WaitGroup

	filled chan struct{} // has room for one: something was found
	mu     sync.Mutex
	found  []foundEnd
}

// sought is a job that is waited for.
type sought struct {
	m     *partition.Map // by which this round goes
	asked map[int]bool   // the partitions where it is waited for, or was
	gone  map[int]bool   // those of them that do not have it
	err   error          // of one that cannot tell
	// what is known of whether it is nowhere; those of which the same is known share it
	absence *partition.Absence
}

// foundEnd is what was found out about jobs.
type foundEnd struct {
	ends  []End
	again []string // jobs to ask for from the beginning, once it was looked at the map
	gone  []string // jobs that no partition has
}

// begin waits for jobs where they most likely are.
func (s *search) begin(ctx context.Context, ids []string) {
	absence, m := s.group.parts.Absence(), s.group.parts.Map()
	at := map[int][]string{}
	for _, id := range ids {
		job := s.jobs[id]
		if job == nil {
			job = &sought{absence: absence}
			s.jobs[id] = job
		}
		likely := m.Likely(id)
		job.m, job.asked, job.gone, job.err = m, map[int]bool{likely: true}, map[int]bool{}, nil
		at[likely] = append(at[likely], id)
	}
	for number, ids := range at {
		s.wait(ctx, number, ids)
	}
}

// wait waits for some jobs in one partition.
func (s *search) wait(ctx context.Context, number int, ids []string) {
	member := s.group.In(number)
	s.waits.Go(func() {
		_ = member.Wait(ctx, ids, func(end End) bool {
			end.Partition = number
			s.tell(foundEnd{ends: []End{end}})
			return false
		}) // what ended it is known to Wait as well
	})
}

func (s *search) tell(found foundEnd) {
	s.mu.Lock()
	s.found = append(s.found, found)
	s.mu.Unlock()
	select {
	case s.filled <- struct{}{}:
	default: // one is enough
	}
}

// takeAll takes all that was found, and returns whether that is enough.
func (s *search) takeAll(ctx context.Context, enough func(End) bool) bool {
	s.mu.Lock()
	all := s.found
	s.found = nil
	s.mu.Unlock()
	var whole foundEnd
	for _, found := range all {
		whole.ends = append(whole.ends, found.ends...)
		whole.again, whole.gone = append(whole.again, found.again...), append(whole.gone, found.gone...)
	}
	return len(all) > 0 && s.take(ctx, whole, enough)
}

// take takes what was found, and returns whether that is enough. What one partition does not have is asked for
// elsewhere.
func (s *search) take(ctx context.Context, found foundEnd, enough func(End) bool) bool {
	missing := map[int][]string{}
	var nowhere []string
	for _, end := range found.ends {
		job := s.jobs[end.ID]
		switch {
		case job == nil: // it is told already
		case end.Err == nil && end.Known.State != rdb.WaitGone, end.Err != nil && job.m.Single():
			delete(s.jobs, end.ID)
			if enough(end) {
				return true
			}
		default:
			if job.gone[end.Partition] = true; end.Err != nil {
				job.err = end.Err
			}
			switch {
			case len(job.gone) == job.m.Len():
				nowhere = append(nowhere, end.ID)
			case len(job.asked) == 1: // it was waited for where it most likely is
				for number := range job.m.Len() {
					if !job.asked[number] {
						job.asked[number] = true
						missing[number] = append(missing[number], end.ID)
					}
				}
			}
		}
	}
	for number, ids := range missing {
		s.wait(ctx, number, ids)
	}
	s.begin(ctx, s.unended(found.again))
	for _, id := range s.unended(found.gone) {
		end := End{ID: id, Known: rdb.Awaited{State: rdb.WaitGone}, Err: s.jobs[id].err}
		delete(s.jobs, id)
		if enough(end) {
			return true
		}
	}
	if len(nowhere) > 0 {
		s.confirm(ctx, nowhere)
	}
	return false
}

// unended are those of the jobs that have not ended.
func (s *search) unended(ids []string) (left []string) {
	for _, id := range ids {
		if s.jobs[id] != nil {
			left = append(left, id)
		}
	}
	return left
}

// confirm finds out whether jobs that no partition has are on their way from one to another, or in one that was not
// known.
func (s *search) confirm(ctx context.Context, ids []string) {
	alike := map[*partition.Absence][]string{}
	for _, id := range ids {
		absence := s.jobs[id].absence
		alike[absence] = append(alike[absence], id)
	}
	for absence, ids := range alike {
		next := *absence
		for _, id := range ids {
			s.jobs[id].absence = &next // it is looked at again when this one has answered
		}
		s.waits.Go(func() {
			asking, cancel := context.WithTimeout(ctx, questionTimeout)
			defer cancel()
			again, err := next.Again(asking, ids)
			switch {
			case err != nil && ctx.Err() == nil:
				next = *s.group.parts.Absence() // who waits goes on waiting
				s.tell(foundEnd{again: ids})
			case err == nil && again:
				s.tell(foundEnd{again: ids})
			case err == nil:
				s.tell(foundEnd{gone: ids})
			}
		})
	}
}

// left are the jobs that have not ended.
func (s *search) left() map[string]bool {
	left := map[string]bool{}
	for id := range s.jobs {
		left[id] = true
	}
	return left
}

// trouble is what is wrong with one of the partitions.
func (s *search) trouble() error {
	asked := map[int]bool{}
	for _, job := range s.jobs {
		for number := range job.asked {
			asked[number] = true
		}
	}
	m := s.group.parts.Map()
	for number := range m.Len() {
		if !asked[number] {
			continue
		}
		if err := s.group.In(number).lastTrouble(); err != nil && m.Single() {
			return err
		} else if err != nil {
			return &partition.Error{Partition: number, Err: err}
		}
	}
	return nil
}

// Look is [Group.Wait] for those who may not wait: it tells the ends of the jobs that have ended by now, and returns
// whether these were all, or enough. Where Redis cannot be asked at once it returns false.
func (g *Group) Look(ctx context.Context, ids []string, enough func(End) bool) bool {
	m := g.parts.Map()
	left := map[int][]string{}
	for _, id := range ids {
		likely := m.Likely(id)
		left[likely] = append(left[likely], id)
	}
	all, done := true, false
	var missing []string
	for number, ids := range left {
		answered := g.In(number).Look(ctx, ids, func(end End) bool {
			if end.Partition = number; end.Known.State == rdb.WaitGone && !m.Single() {
				missing = append(missing, end.ID)
				return false
			}
			done = enough(end)
			return done
		})
		if done {
			return true
		}
		all = all && answered
	}
	for _, id := range missing {
		told, is := g.lookFor(ctx, m, id)
		if !is {
			all = false
		} else if enough(told) {
			return true
		}
	}
	return all
}

// lookFor looks for a job that is not where it most likely is. It returns false where it has not ended, or that cannot
// be known at once: so of one that is nowhere, since it may be on its way.
func (g *Group) lookFor(ctx context.Context, m *partition.Map, id string) (told End, is bool) {
	for number := range m.Len() {
		if number == m.Likely(id) {
			continue
		}
		g.In(number).Look(ctx, []string{id}, func(end End) bool {
			if end.Known.State != rdb.WaitGone {
				told, is = end, true
				told.Partition = number
			}
			return is
		})
		if is {
			return told, true
		}
	}
	return told, false
}
