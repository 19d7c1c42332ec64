// Package find runs searches to their ends, for pages and API: each once, however many people look at it, and all
// together within a budget, so that a dashboard never costs Redis more than one question at a time. It shows nothing
// itself, and holds no goroutine while nobody looks.
package find

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
)

// The bounds of a search.
const (
	// Most is how many jobs one finds before it ends; a further one goes on from there. As many can be ticked at once.
	Most = 500
	// mostBytes is how much of args those may have: they are kept for all who come later.
	mostBytes = 8 << 20
	// tellEvery is how often somebody is told, so that a browser has time to draw.
	tellEvery = 200 * time.Millisecond
	// pause is how long it rests after each question, as a share of what that took: others come in between.
	pause = 0.5
)

// ErrTooMany is the error where as many look at searches as may.
var ErrTooMany = errors.New("as many searches are looked at as may be: this one is not run")

// Question is what is looked for, and from where on. Those who ask the same share one search.
type Question struct {
	inspect.Selection
	Newest, Ended bool
	Cursor        string // of News, to go on; "" begins anew
}

func (q *Question) key() string {
	return fmt.Sprintf("%#v", *q) // a map is written in the order of its keys
}

// News is what somebody is told.
type News struct {
	Jobs    []*inspect.JobInfo // found since the last time; nobody changes them
	Found   int                // by this search so far
	Through int                // records that were looked at, also by those that this one goes on from
	Total   int                // of about so many
	Rate    float64            // records in a second
	Left    time.Duration      // to the end at that rate; 0 where that is not known
	Cursor  string             // goes on behind all that was told; "" where all was looked at
	Over    bool               // it has ended: at the end, or since it has found enough
	Missing error              // which partitions have not answered
}

// Searches are those under way. All methods may be called concurrently.
type Searches struct {
	inspector *inspect.Inspector
	most      int           // people who look
	turn      chan struct{} // has room for the one who asks Redis

	mu    sync.Mutex
	known map[string]*search // those that one can join
	look  int
}

// New makes them for an Inspector. At most so many people may look at a time; negative is nobody.
func New(inspector *inspect.Inspector, most int) *Searches {
	return &Searches{inspector: inspector, most: most, turn: make(chan struct{}, 1), known: map[string]*search{}}
}

// Watched is how many people look at searches.
func (s *Searches) Watched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.look
}

// Changed has those who ask from now on search anew: something was done, and what was found may be elsewhere.
func (s *Searches) Changed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.known)
}

// Follow searches, or joins those who do, and tells until it is over, ctx has ended, or tell returns an error, which it
// returns. The first News has what others have found so far.
func (s *Searches) Follow(ctx context.Context, q Question, tell func(News) error) error {
	one, err := s.join(q)
	if err != nil {
		return err
	}
	defer s.leave(one)
	for told := 0; ; {
		news, changed, err := one.since(told)
		if err != nil {
			return err
		}
		if told += len(news.Jobs); news.Total > 0 || news.Over {
			if err := tell(news); err != nil || news.Over {
				return err
			}
			if err := wait(ctx, time.After(tellEvery)); err != nil {
				return err
			}
		}
		if err := wait(ctx, changed); err != nil {
			return err
		}
	}
}

func wait[T any](ctx context.Context, signal <-chan T) error {
	select {
	case <-signal:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// join begins a search unless it is under way.
func (s *Searches) join(q Question) (*search, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.look >= s.most {
		return nil, ErrTooMany
	}
	one := s.known[q.key()]
	if one == nil {
		ctx, stop := context.WithCancel(context.Background())
		one = newSearch(q, stop)
		s.known[q.key()] = one
		go s.run(ctx, one)
	}
	s.look++
	one.looking++
	return one, nil
}

// leave ends a search with the last who looks at it, and waits for that: no goroutine outlives the requests.
func (s *Searches) leave(one *search) {
	s.mu.Lock()
	s.look--
	one.looking--
	last := one.looking == 0
	if key := one.question.key(); last && s.known[key] == one {
		delete(s.known, key)
	}
	s.mu.Unlock()
	if last {
		one.stop()
		<-one.stopped
	}
}

func (s *Searches) run(ctx context.Context, one *search) {
	defer close(one.stopped)
	defer func() {
		if value := recover(); value != nil { // it runs outside of any request, where nobody else would catch it
			one.fail(fmt.Errorf("the search panicked: %v\n%s", value, debug.Stack()))
		}
	}()
	for s.step(ctx, one) {
	}
}

// step asks once, when it is this search's turn, and rests before the next one's. It is false at the end.
func (s *Searches) step(ctx context.Context, one *search) bool {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	defer func() { <-s.turn }()
	begun := time.Now()
	asking, missing := partly.Collect(ctx)
	page, err := s.inspector.Search(asking, one.question.Selection, inspect.SearchOptions{
		Cursor: one.cursor, Limit: one.room(), Newest: one.question.Newest, Ended: one.question.Ended})
	if err != nil {
		one.fail(err)
		return false
	}
	if one.add(page, missing.Err()) {
		return false
	}
	return wait(ctx, time.After(time.Duration(pause*float64(time.Since(begun))))) == nil
}
