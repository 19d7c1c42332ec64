package thoonk

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

const (
	// lookAtOnce is how many jobs are looked for in one round trip.
	lookAtOnce = 60

	// hearsay is how long the event of an end is waited for after a look that missed the job: it comes by another
	// connection than the look's answer, which may be the quicker one.
	hearsay = waitStep / 2
)

// ending is what came of a job, before it is decoded.
type ending struct {
	result []byte // nil: none
	err    error
}

// endings are the jobs of one feed whose ends somebody waits for. Its methods may be called concurrently.
type endings struct {
	feed *feed

	mu      sync.Mutex
	jobs    map[string]*expected
	stands  chan struct{} // closed while the subscription stands; nil before the first job
	broken  bool          // the subscription was lost, and stands is one to come
	look    chan struct{} // full: look now
	closing bool
}

// expected is one job.
type expected struct {
	tell   func(ending)
	stored bool      // the put was answered: from then on a job that is not there has ended
	early  *ending   // was heard before that
	missed time.Time // when a look first found it gone; zero: it was there
}

func newEndings(f *feed) *endings {
	return &endings{feed: f, jobs: map[string]*expected{}, look: make(chan struct{}, 1)}
}

// expect adds a job, and returns when its end will be heard.
func (e *endings) expect(ctx context.Context, id string, tell func(ending)) error {
	e.mu.Lock()
	switch {
	case e.closing:
		e.mu.Unlock()
		return ErrClosed
	case e.jobs[id] != nil:
		e.mu.Unlock()
		return ErrTaken
	}
	if e.stands == nil {
		e.stands = make(chan struct{})
		if !e.feed.client.watch(e.listen, e.lookNowAndThen) {
			e.mu.Unlock()
			return ErrClosed
		}
	}
	e.jobs[id] = &expected{tell: tell}
	stands := e.stands
	e.mu.Unlock()
	select {
	case <-stands:
		return nil
	case <-ctx.Done():
		e.forget(id)
		return context.Cause(ctx)
	case <-e.feed.client.life.Done():
		e.forget(id)
		return ErrClosed
	}
}

// forget drops a job that was not put in.
func (e *endings) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.jobs, id)
}

// stored notes that a job is in the feed.
func (e *endings) stored(id string) {
	e.mu.Lock()
	job := e.jobs[id]
	job.stored = true // it is there: nothing takes a job away before
	e.mu.Unlock()
	if job.early != nil {
		e.tell(id, *job.early)
	}
}

// listen hears of ends until the client is closed.
func (e *endings) listen() {
	c, name := e.feed.client, e.feed.Name()
	patterns := []string{escaped(c.prefix) + "job.finish:" + escaped(name),
		escaped(c.prefix) + "feed.retract:" + escaped(name), escaped(c.prefix) + "delfeed"}
	c.listen(c.life, patterns, func(m message) bool {
		switch m.what {
		case Connected:
			e.standing(true)
			return true
		case Disconnected:
			e.standing(false)
			return true
		}
		event, _ := c.event(m.channel, m.text)
		switch {
		case event.Feed != name:
		case event.What == Finished:
			e.tell(event.ID, ending{result: event.Item})
		case event.What == Retracted:
			e.tell(event.ID, ending{err: ErrNoItem})
		case event.What == Deleted:
			e.tellAll(ErrNoFeed)
		}
		return true
	})
	e.mu.Lock()
	e.closing = true
	e.mu.Unlock()
	e.tellAll(ErrClosed)
}

// standing notes whether the subscription stands. Once it does, again, what ended meanwhile is looked for.
func (e *endings) standing(now bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !now {
		if !e.broken {
			e.broken = true
			select {
			case <-e.stands: // who comes now waits for the next one
				e.stands = make(chan struct{})
			default:
			}
		}
		return
	}
	e.broken = false
	close(e.stands)
	select {
	case e.look <- struct{}{}:
	default:
	}
}

// tell calls what waits for the end of a job, if that is still to be called; once its put was answered, which may fail.
func (e *endings) tell(id string, what ending) {
	e.mu.Lock()
	job := e.jobs[id]
	switch {
	case job == nil:
	case !job.stored:
		job.early, job = &what, nil
	default:
		delete(e.jobs, id)
	}
	e.mu.Unlock()
	if job != nil {
		job.tell(what)
	}
}

func (e *endings) tellAll(err error) {
	e.mu.Lock()
	all := slices.Collect(maps.Keys(e.jobs))
	e.mu.Unlock()
	for _, id := range all {
		e.tell(id, ending{err: err})
	}
}

// lookNowAndThen finds jobs that have ended unheard: while the connection was away, or by a program that does not tell.
func (e *endings) lookNowAndThen() {
	ctx := e.feed.client.life
	timer := time.NewTicker(waitStep)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-e.look:
		}
		e.lookFor(ctx)
	}
}

func (e *endings) lookFor(ctx context.Context) {
	for page := range slices.Chunk(e.known(), lookAtOnce) {
		there, err := e.feed.db.Have(ctx, page)
		if errors.Is(err, thoonkdb.ErrNoFeed) {
			for _, id := range e.known() {
				e.suspect(id, ErrNoFeed)
			}
		}
		if err != nil {
			return // the next look comes soon
		}
		for i, id := range page {
			if there[i] {
				e.found(id)
			} else {
				e.lookForResult(ctx, id)
			}
		}
	}
}

// known are the jobs that were in the feed.
func (e *endings) known() (ids []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, job := range e.jobs {
		if job.stored {
			ids = append(ids, id)
		}
	}
	return ids
}

// lookForResult tells of a job that is no longer in the feed, if its result was kept.
func (e *endings) lookForResult(ctx context.Context, id string) {
	result, kept, err := e.feed.db.Result(ctx, id)
	switch {
	case err != nil:
		return
	case kept:
		e.tell(id, ending{result: result.Result})
	default:
		e.suspect(id, ErrEndUnknown)
	}
}

// suspect tells of a job that is gone, unless its event may still be on the way.
func (e *endings) suspect(id string, why error) {
	e.mu.Lock()
	job := e.jobs[id]
	if job != nil && job.missed.IsZero() {
		job.missed = time.Now()
	}
	late := job != nil && time.Since(job.missed) >= hearsay
	e.mu.Unlock()
	if late {
		e.tell(id, ending{err: why})
	}
}

// found notes that a job is there.
func (e *endings) found(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if job := e.jobs[id]; job != nil {
		job.missed = time.Time{}
	}
}
