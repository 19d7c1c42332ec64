package subscription

import (
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Surveys says when a worker asks Redis what it holds there, and of which queues: what is claimed in Redis and not held
// goes back. It asks after a call whose answer was lost, of the queues of which it has fetched since, and of all queues
// once it has reason to mistrust Redis. After a failover Redis may not know what it has acknowledged: a replica that
// lacks the end of a job takes over, so the job has a claim again that nobody knows of, with its lock and its place
// under a limit.
//
// It belongs to the goroutine of the fetcher; only Mistrust and Due are for others.
type Surveys struct {
	gone atomic.Bool  // trust: all queues are to be asked about
	look atomic.Int64 // ns, when the next queues are to be asked about in any case; 0 before the first survey

	lost    bool            // what a call did must be found out before the next fetch
	touched map[string]bool // queues fetched from since the last survey
	last    time.Time

	round time.Duration // in which all queues are asked about
	left  []string      // the queues that are still to be asked about in this round
	wait  time.Duration // between two parts of it
}

// Survey is one of the surveys that may be due.
type Survey int

// The surveys.
const (
	NoSurvey        Survey = iota
	SurveyOfAll            // of all queues, and of what Redis lists besides
	SurveyOfTouched        // of those of which something was fetched
	SurveyOfPart           // of the next part of all queues, in their turn
)

// surveyInterval is how long after the last one there is a survey of the queues of which something was fetched since.
const surveyInterval = 5 * time.Second

// NewSurveys makes the surveys of a worker that asks about all its queues once in that time, whatever is known of them.
// It begins with one, since it may have lived before.
func NewSurveys(round time.Duration) *Surveys {
	return &Surveys{lost: true, touched: map[string]bool{}, round: round}
}

// Mistrust has the fetcher ask about all queues: something has failed, and who answers now may not be the one of
// before. It tells whether that is news.
func (s *Surveys) Mistrust() (news bool) { return !s.gone.Swap(true) }

// Due tells whether queues are to be asked about although nothing is fetched.
func (s *Surveys) Due() bool {
	look := s.look.Load()
	return look > 0 && (s.gone.Load() || time.Now().UnixNano() >= look)
}

// Lose notes that a call was not answered, or that its number was not new to Redis.
func (s *Surveys) Lose() { s.lost = true }

// Touch notes a queue from which something is about to be fetched.
func (s *Surveys) Touch(name string) { s.touched[name] = true }

// Touched adds to names those of the queues that were touched.
func (s *Surveys) Touched(names map[string]bool) { maps.Copy(names, s.touched) }

// Next is the survey that is due now.
func (s *Surveys) Next() Survey {
	switch {
	case s.gone.Swap(false):
		return SurveyOfAll
	case s.lost || time.Since(s.last) > surveyInterval && len(s.touched) > 0:
		return SurveyOfTouched
	case time.Now().UnixNano() >= s.look.Load():
		return SurveyOfPart
	}
	return NoSurvey
}

// Part returns the queues of the next part of a round, of those that listed returns when a round begins. What is idle
// costs one request per round and 500 queues.
func (s *Surveys) Part(listed func() []string) []string {
	if len(s.left) == 0 {
		s.left = listed()
		parts := (len(s.left) + rdb.MaxBatch - 1) / rdb.MaxBatch
		s.wait = s.round / time.Duration(max(1, parts))
	}
	return s.left[:min(len(s.left), rdb.MaxBatch)]
}

// Done notes what came of a survey. One that has failed is due again.
func (s *Surveys) Done(survey Survey, err error) {
	switch {
	case err != nil:
		if survey == SurveyOfAll {
			s.gone.Store(true)
		}
	case survey == SurveyOfAll:
		s.agreed()
		s.left = nil
		s.lookAfter(s.round)
	case survey == SurveyOfTouched:
		s.agreed()
		if s.look.Load() == 0 { // the workers of a fleet may all have begun now
			s.lookAfter(rand.N(s.round) + 1)
		}
	case survey == SurveyOfPart:
		s.left = s.left[min(len(s.left), rdb.MaxBatch):]
		s.lookAfter(s.wait)
	}
}

func (s *Surveys) agreed() {
	s.lost, s.last = false, time.Now()
	clear(s.touched)
}

func (s *Surveys) lookAfter(d time.Duration) { s.look.Store(time.Now().Add(d).UnixNano()) }
