package work

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rewound"
	"github.com/265d0351/work/internal/stopped"
)

// session is the identity under which a worker claims jobs, and what it holds under it. A worker that was declared dead
// goes on under a new one; what it still runs belongs to the old one, whose outcomes count only where nobody took the
// job yet.
type session struct {
	forgotten atomic.Int64 // number of the last fetch that Redis may have lost again, in a failover
	rdb       *rdb.Worker
	parent    context.Context   // of ctx
	info      map[string]string // what it has told Redis of itself; of whoever registers it
	ran       stopped.Counter
	book      rewound.Book

	restoring  sync.Mutex   // held while something is stored again
	restores   atomic.Int64 // the number of the last call that did
	unanswered *restoreCall // sent again before all others

	number int64         // of the last fetch or survey; the fetcher's
	shared *atomic.Int64 // numbers of all workers of the pool, so that they tell which fetch was earlier; may be nil

	mu      sync.Mutex
	ctx     context.Context // parent of the ctx of its jobs
	cancel  context.CancelCauseFunc
	epoch   string
	held    map[string]*run // by element: fetched and not yet acknowledged
	watched map[*run]bool   // runs that have checked in; true if a heartbeat told so
	lost    []string        // ids of jobs that were taken from it; told when it learns that it was fenced
	left    []string        // ids of those told that have ended, for the next heartbeat to remove
}

// restoreCall is a call that stores held jobs again. Until it is answered it is sent again under its number: a new one
// would store jobs again that have ended since the first was executed.
type restoreCall struct {
	number int64
	runs   []*run
}

func newSession(store *rdb.Store, parent context.Context) *session {
	ctx, cancel := context.WithCancelCause(parent)
	return &session{
		rdb: store.Worker(ids.Worker()), parent: parent, ctx: ctx, cancel: cancel,
		held: map[string]*run{}, watched: map[*run]bool{},
	}
}

// context is the parent of the ctx of jobs that are fetched now.
func (s *session) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ctx
}

// end ends the ctx of all jobs, those included that are fetched later.
func (s *session) end(cause error) {
	s.mu.Lock()
	cancel := s.cancel
	s.mu.Unlock()
	cancel(cause)
}

// renew ends the ctx of the jobs that were fetched so far.
func (s *session) renew(cause error) {
	s.mu.Lock()
	cancel := s.cancel
	s.ctx, s.cancel = context.WithCancelCause(s.parent)
	s.mu.Unlock()
	cancel(cause)
}

func (s *session) nextNumber() int64 {
	s.number++
	if s.shared != nil {
		s.number = max(s.number, s.shared.Add(1))
	}
	return s.number
}

func (s *session) hold(runs []*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		s.held[r.claim.Element] = r
	}
}

// drop forgets runs whose outcome was acknowledged.
func (s *session) drop(runs []*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range runs {
		delete(s.held, r.claim.Element)
		if !r.settlement.lostClaim {
			s.book.Ended(r.fetchNumber())
		}
		if r.settlement.lostClaim && len(s.lost) < maxLost {
			s.lost = append(s.lost, r.job.ID)
		}
		told, watched := s.watched[r]
		if told {
			s.left = append(s.left, r.job.ID)
		}
		if watched {
			delete(s.watched, r)
		}
	}
}

// maxLost bounds what is kept of jobs that were taken from a worker that does not know yet that it was fenced: it holds
// no more, with a thousand handlers that wait and a thousand outcomes that are refused.
const maxLost = 5 * maxHeld

// maxCheckIns is how many check-ins one heartbeat tells; others are told by the next.
const maxCheckIns = rdb.MaxBatch

// ever returns the ids of what it holds, and of what was taken from it.
func (s *session) ever() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.lost
	s.lost = nil
	for _, r := range s.held {
		ids = append(ids, r.job.ID)
	}
	return ids
}

func (s *session) holds(element string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held[element] != nil
}

// runs returns what is held, in no order.
func (s *session) runs() []*run {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*run, 0, len(s.held))
	for _, r := range s.held {
		all = append(all, r)
	}
	return all
}

// elements returns what is held as Redis knows it, in no order.
func (s *session) elements() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.held))
}

// queues returns the names of the queues of which something is held.
func (s *session) queues() map[string]bool {
	names := map[string]bool{}
	for _, r := range s.runs() {
		names[r.claim.Queue] = true
	}
	return names
}

// watch begins to pass the check-ins of a run on.
func (s *session) watch(r *run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[r.claim.Element] == r {
		s.watched[r] = false
	}
}

// heartbeatNews returns what the next heartbeat tells: the check-ins since the last one, and who has ended.
func (s *session) heartbeatNews() (checkins []rdb.CheckIn, left []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	again := map[string]bool{} // jobs that came back since: their new check-ins stand under the same ids
	for r := range s.watched {
		again[r.job.ID] = true
		if len(checkins) == maxCheckIns {
			continue
		}
		if message := r.takeNews(); message != nil {
			s.watched[r] = true
			number, _, _ := strings.Cut(r.claim.Element, ":")
			checkins = append(checkins, rdb.CheckIn{ID: r.job.ID, Number: number, Message: *message})
		}
	}
	left, s.left = slices.DeleteFunc(s.left, func(id string) bool { return again[id] }), nil
	return checkins, left
}

// restoreNews puts news back whose heartbeat failed, unless there are newer ones.
func (s *session) restoreNews(checkins []rdb.CheckIn, left []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left = append(left, s.left...)
	for _, checkin := range checkins {
		if r := s.held[checkin.Number+":"+checkin.ID]; r != nil {
			r.longJob().ReturnNews(&checkin.Message)
		}
	}
}

func (s *session) knownEpoch() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

func (s *session) setEpoch(epoch string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.epoch = epoch
}

// deathRetraction is owed to the jobs of a worker that was taken for dead and is alive: they have met no crash.
type deathRetraction struct {
	of  *session
	ids []string
}

// retractDeath takes back that a former identity of this worker died. What fails is tried again with the next
// heartbeat.
func (w *worker) retractDeath(ctx context.Context, old *session) {
	w.deathRetractions = append(w.deathRetractions, deathRetraction{old, old.ever()})
	w.retractDeaths(ctx)
}

// retractDeaths is called by the heartbeater alone.
func (w *worker) retractDeaths(ctx context.Context) {
	for len(w.deathRetractions) > 0 {
		if _, err := w.deathRetractions[0].of.rdb.DeclareAlive(ctx, w.deathRetractions[0].ids); err != nil {
			return
		}
		w.deathRetractions = w.deathRetractions[1:]
	}
}
