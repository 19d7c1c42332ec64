package work

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// surveys is what a fetcher knows of how far Redis and its worker agree about what the worker holds.
type surveys struct {
	lost    bool            // the last fetch was not answered: what it did must be found out before the next one
	touched map[string]bool // queues fetched from since the last survey
	last    time.Time

	round time.Duration // in which all names are asked about
	left  []string      // the names that are still to be asked about in this round
	wait  time.Duration // between two looks of it
}

// The times of surveys.
const (
	surveyInterval = 5 * time.Second // for the names of which something was fetched since the last one
	surveyRound    = time.Minute     // for all names, whatever is known of them
)

func newSurveys(round time.Duration) surveys {
	return surveys{lost: true, touched: map[string]bool{}, round: round}
}

// trust is whether Redis is believed to know what it has acknowledged. After a failover it may not: a replica that
// lacks the end of a job takes over, so the job has a claim again that nobody knows of, with its lock and its place
// under a limit.
type trust struct {
	gone atomic.Bool  // all names are to be asked about
	look atomic.Int64 // ns, when the next names are to be asked about in any case; 0 before the first survey
}

// mistrust has the fetcher ask about all names: something has failed, and who answers now may not be the one of before.
func (w *worker) mistrust() {
	if !w.trust.gone.Swap(true) {
		w.callFetcher()
	}
}

// remind has a fetcher look up that waits for something else while names are to be asked about.
func (w *worker) remind() {
	if w.surveyDue() {
		w.callFetcher()
	}
}

func (w *worker) callFetcher() {
	w.nudged.give()
	w.slots.signal()
}

func (w *worker) surveyDue() bool {
	look := w.trust.look.Load()
	return look > 0 && (w.trust.gone.Load() || time.Now().UnixNano() >= look)
}

// newsForFetcher tells whether the fetcher has something to look into, even if it may not fetch.
func (w *worker) newsForFetcher() bool { return w.duties.news.Load() || w.surveyDue() }

// compare finds out what Redis thinks this worker holds, where there is reason to, and gives back what it does not
// hold.
func (f *fetcher) compare() error {
	s, t := &f.surveys, &f.worker.trust
	due := time.Now().UnixNano() >= t.look.Load()
	switch {
	case t.gone.Swap(false):
		if err := f.surveyAll(); err != nil {
			t.gone.Store(true)
			return err
		}
	case s.lost || time.Since(s.last) > surveyInterval && len(s.touched) > 0:
		return f.survey()
	case due:
		return f.surveyNext()
	}
	return nil
}

// survey finds out what a fetch whose reply was lost did. No fetch sent before can land after it.
func (f *fetcher) survey() error {
	names := f.worker.claimant().queues()
	maps.Copy(names, f.surveys.touched)
	if err := f.surveyNames(slices.Collect(maps.Keys(names))); err != nil {
		return err
	}
	f.surveys.lost, f.surveys.last = false, time.Now()
	clear(f.surveys.touched)
	if f.worker.trust.look.Load() == 0 { // the workers of a fleet may all have begun now
		f.lookAfter(rand.N(f.surveys.round) + 1)
	}
	return nil
}

// surveyAll asks about all names that this worker serves, and those that Redis lists for it.
func (f *fetcher) surveyAll() error {
	c := f.worker.claimant()
	names := setOf(f.worker.duties.listed())
	maps.Copy(names, f.surveys.touched)
	maps.Copy(names, c.queues())
	if err := f.surveyNames(slices.Collect(maps.Keys(names))); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	listed, err := c.rdb.Queues(ctx)
	if err != nil {
		return err
	}
	more := slices.DeleteFunc(slices.Clone(listed), func(name string) bool { return names[name] })
	if len(more) > 0 {
		if err := f.surveyNames(more); err != nil {
			return err
		}
	}
	f.worker.duties.correct(c, listed)
	f.surveys.lost, f.surveys.last, f.surveys.left = false, time.Now(), nil
	clear(f.surveys.touched)
	f.lookAfter(f.surveys.round)
	return nil
}

// surveyNext asks about the next names of a round. What is idle costs one request per round and 500 names.
func (f *fetcher) surveyNext() error {
	s := &f.surveys
	if len(s.left) == 0 {
		s.left = f.worker.duties.listed()
		parts := (len(s.left) + rdb.MaxBatch - 1) / rdb.MaxBatch
		s.wait = s.round / time.Duration(max(1, parts))
	}
	part := s.left[:min(len(s.left), rdb.MaxBatch)]
	if err := f.surveyNames(part); err != nil {
		return err
	}
	s.left = s.left[len(part):]
	f.lookAfter(s.wait)
	return nil
}

func (f *fetcher) lookAfter(d time.Duration) { f.worker.trust.look.Store(time.Now().Add(d).UnixNano()) }

// surveyNames asks about names, in steps, and gives back what is claimed of them and not held.
func (f *fetcher) surveyNames(names []string) error {
	c := f.worker.claimant()
	for at := 0; at == 0 || at < len(names); at += rdb.MaxBatch {
		if err := f.surveySome(c, names[at:min(len(names), at+rdb.MaxBatch)]); err != nil {
			return err
		}
	}
	return nil
}

func (f *fetcher) surveySome(c *claimant, queues []string) error {
	ctx, cancel := context.WithTimeout(f.worker.life, fetchTimeout)
	defer cancel()
	state, claims, err := c.rdb.Survey(ctx, c.nextNumber(), queues)
	if err != nil {
		f.worker.mistrust()
		return err
	}
	switch state {
	case rdb.Fenced:
		return errNotRegistered
	case rdb.Stale:
		c.number += 1 << 32
		return errors.New("the number of a survey was not new to Redis")
	case rdb.Rewound:
		c.forgotten.Store(c.number)
		f.worker.mistrust()
	}
	unheld := map[string][]string{}
	for _, claim := range claims {
		if !c.holds(claim.Element) {
			unheld[claim.Queue] = append(unheld[claim.Queue], claim.Element)
		}
	}
	return f.worker.giveBack(ctx, c, unheld, "")
}
