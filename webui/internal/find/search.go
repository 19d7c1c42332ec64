package find

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/inspect"
)

// search is one under way. Its goroutine adds to it, and those who look read.
type search struct {
	question Question
	looking  int // people; the lock of Searches is held
	stop     context.CancelFunc
	stopped  chan struct{}

	cursor string // of the next question; the goroutine's own
	bytes  int    // of the args of what was found; likewise

	mu      sync.Mutex
	begun   time.Time
	looked  int // records
	jobs    []*inspect.JobInfo
	news    News // without jobs
	err     error
	changed chan struct{} // closed when there is more to tell
}

func newSearch(q Question, stop context.CancelFunc) *search {
	return &search{question: q, stop: stop, stopped: make(chan struct{}), cursor: q.Cursor, begun: time.Now(),
		changed: make(chan struct{})}
}

// room is how many jobs it may still find.
func (s *search) room() int { return Most - len(s.jobs) }

// since is what there is behind so many jobs that were told, and what is closed when there is more. An error comes when
// all else was told.
func (s *search) since(told int) (News, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := s.news
	if news.Jobs = slices.Clone(s.jobs[told:]); len(news.Jobs) == 0 && s.err != nil {
		return News{}, nil, s.err
	}
	return news, s.changed, nil
}

// add takes what was found, and tells whether the search is over.
func (s *search) add(page inspect.SearchPage, missing error) bool {
	for _, job := range page.Jobs {
		s.bytes += len(job.Args)
	}
	s.cursor = page.Next
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked += page.Looked
	s.jobs = append(s.jobs, page.Jobs...)
	s.news = News{Found: len(s.jobs), Through: page.Through, Total: page.Total, Cursor: page.Next,
		Over:    page.Next == "" || len(s.jobs) >= Most || s.bytes >= mostBytes,
		Missing: cmp.Or(missing, s.news.Missing)}
	if took := time.Since(s.begun).Seconds(); took > 0 && s.looked > 0 {
		s.news.Rate = float64(s.looked) / took
		left := float64(page.Total-page.Through) / s.news.Rate
		s.news.Left = time.Duration(left * float64(time.Second))
	}
	s.tellAll()
	return s.news.Over
}

func (s *search) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.tellAll()
}

// tellAll wakes all who wait; the lock is held.
func (s *search) tellAll() {
	close(s.changed)
	s.changed = make(chan struct{})
}
