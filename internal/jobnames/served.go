package jobnames

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/nearest"
	"github.com/265d0351/work/internal/redisconn"
)

// Store is what knows which names workers have served. *rdb.Store is one.
type Store interface {
	// NeverServed returns those of the names that no worker has served, in one round trip.
	NeverServed(ctx context.Context, names []string) ([]string, error)
	// LastServed returns up to so many names that workers have served.
	LastServed(ctx context.Context, most int) ([]string, error)
}

// What is kept of the answers.
const (
	// Again is after how long a name is asked for again that nobody has served.
	Again = 3 * time.Second
	// mostKept is how many names are kept of each kind; beyond that it forgets all and asks anew.
	mostKept = 10_000
)

// Served asks Redis which names some worker has served, and remembers the answers: yes for good, no for [Again].
type Served struct {
	store Store
	ask   func(ctx context.Context, step func(context.Context) error) error

	mu     sync.Mutex
	yes    map[string]bool
	no     map[string]time.Time // until when it counts
	listed []string             // the last served names, for errors
	until  time.Time            // when these are read anew
}

// NewServed asks store by ask, which repeats a step as the calls of an Enqueuer are repeated.
func NewServed(store Store, ask func(ctx context.Context, step func(context.Context) error) error) *Served {
	return &Served{store: store, ask: ask, yes: map[string]bool{}, no: map[string]time.Time{}}
}

// never returns which of the names no worker has served and, where there are some, the last names that were. The error
// is that of a Redis that cannot be reached in time: the enqueue could not either. One that answers and does not tell,
// since it forbids the command or the key has another type, is no reason to refuse a job.
func (s *Served) never(ctx context.Context, names []string) (never map[string]bool, served []string, err error) {
	now := time.Now()
	never, unsure := s.recall(names, now)
	if len(unsure) > 0 {
		if err := s.learn(ctx, unsure, never); err != nil || len(never) == 0 {
			return nil, nil, refusedToTell(err)
		}
	}
	if len(never) > 0 {
		served = s.list(ctx, now)
	}
	return never, served, nil
}

// recall tells what is known of the names: those that nobody has served, and those that are to be asked for.
func (s *Served) recall(names []string, now time.Time) (never map[string]bool, unsure []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range names {
		switch until, no := s.no[name]; {
		case s.yes[name]:
		case no && now.Before(until):
			if never == nil {
				never = map[string]bool{}
			}
			never[name] = true
		default:
			unsure = append(unsure, name)
		}
	}
	if len(unsure) > 0 && never == nil {
		never = map[string]bool{}
	}
	slices.Sort(unsure)
	return never, slices.Compact(unsure)
}

// learn asks Redis for names, and adds those that nobody has served to never.
func (s *Served) learn(ctx context.Context, names []string, never map[string]bool) error {
	var nobody []string
	err := s.ask(ctx, func(ctx context.Context) (err error) {
		nobody, err = s.store.NeverServed(ctx, names)
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range nobody {
		never[name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.yes) > mostKept {
		clear(s.yes)
	}
	if len(s.no) > mostKept {
		clear(s.no)
	}
	until := time.Now().Add(Again)
	for _, name := range names {
		if never[name] {
			s.no[name] = until
		} else {
			s.yes[name] = true
			delete(s.no, name)
		}
	}
	return nil
}

// list are the last served names, read once in [Again]; what cannot be read is not missed.
func (s *Served) list(ctx context.Context, now time.Time) []string {
	s.mu.Lock()
	listed, fresh := s.listed, now.Before(s.until)
	s.mu.Unlock()
	if fresh {
		return listed
	}
	listed, err := s.store.LastServed(ctx, nearest.Most)
	if err != nil {
		return nil
	}
	slices.Sort(listed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed, s.until = listed, time.Now().Add(Again)
	return listed
}

// refusedToTell is the error unless it is an answer of Redis.
func refusedToTell(err error) error {
	var answer *redisconn.ServerError
	if errors.As(err, &answer) {
		return nil
	}
	return err
}
