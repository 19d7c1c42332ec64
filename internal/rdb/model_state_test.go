package rdb_test

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/rdb"
)

// model is what should be in Redis, kept in plain Go. It changes only when Redis executes a call.
type model struct {
	jobs      map[string]*modelJob
	queues    map[string][]string            // front first
	inProcess map[string]map[string][]string // worker, queue -> elements, oldest first
	claimed   map[string]modelClaim          // id ->
	shelves   map[rdb.Shelf]map[string]int64 // id -> due ms
	// id -> when it came to its shelf: the order of those that are due in the same ms
	turns    map[string]int
	shelved  int // how many came to shelves
	outcomes map[string]modelOutcome
	past     map[string]map[string]string // state and queue, id -> details
	lanes    map[string]modelLane

	workers, dead map[string]bool
	serves        map[string][]string
	last          map[string]int64 // worker -> number of its last fetch or survey
	restores      map[string]int64 // worker -> number of its last call that restored something
	hearts        map[string]modelHeart
	running       map[string]map[string]string // worker, id -> check-in
	stopped       map[string]string            // what is listed of workers that were forgotten
	absolved      map[string]bool              // workers that were taken for dead and turned out to be alive
	lease, deputy modelLease
	timed         map[string]bool              // workers that have a deadline
	once          map[string]bool              // names that some worker has served
	taken         map[string]map[string]string // dead worker -> what was taken from it, and its last number as n
	epoch         string

	acknowledged, ended map[string]bool
	waited              map[string]bool // ids that somebody waits for
	owed                map[string]bool // queues whose token was popped and not paid yet
	limbo               map[string]bool // claimed ids whose element or worker was taken away by damage

	locks     map[string]modelLock       // by digest
	freed     map[string]bool            // jobs that have lost their lock as they should, and live on
	cancelled map[string]bool            // flags
	rules     map[string]rdb.Rule        // by queue, "" is all
	counted   map[string]map[string]bool // queue, id that counts towards its limit
	owing     map[string]float64         // by queue: until when its rate owes, ms
	begun     map[string]modelBegun
}

type modelJob struct {
	queue, record, trail string
	crashes              []string
}

type (
	modelClaim struct {
		worker, element, queue string
	}
	modelOutcome struct {
		text  string
		until int64
	}
	modelLane struct {
		number   int64
		used     int64 // when Redis took its last call, ms
		problems map[int]rdb.Problem
		owners   map[int]string
	}
	modelHeart struct{ since, until int64 }
	modelLease struct {
		holder string
		until  int64
	}
)

func newModel() *model {
	return &model{
		jobs: map[string]*modelJob{}, queues: map[string][]string{}, inProcess: map[string]map[string][]string{},
		claimed: map[string]modelClaim{}, turns: map[string]int{}, outcomes: map[string]modelOutcome{},
		past:  map[string]map[string]string{},
		lanes: map[string]modelLane{},
		shelves: map[rdb.Shelf]map[string]int64{rdb.ShelfRetry: {}, rdb.ShelfScheduled: {}, rdb.ShelfMorgue: {},
			rdb.ShelfStalled: {}},
		workers: map[string]bool{}, dead: map[string]bool{}, serves: map[string][]string{}, last: map[string]int64{},
		restores: map[string]int64{},
		hearts:   map[string]modelHeart{}, timed: map[string]bool{}, once: map[string]bool{},
		running:      map[string]map[string]string{},
		stopped:      map[string]string{},
		absolved:     map[string]bool{},
		taken:        map[string]map[string]string{},
		acknowledged: map[string]bool{}, ended: map[string]bool{}, waited: map[string]bool{}, owed: map[string]bool{},
		limbo: map[string]bool{},
		locks: map[string]modelLock{}, freed: map[string]bool{}, cancelled: map[string]bool{},
		rules:   map[string]rdb.Rule{},
		counted: map[string]map[string]bool{}, owing: map[string]float64{}, begun: map[string]modelBegun{},
	}
}

// shift moves all times that are stored into the past, which is what letting time pass means on a real Redis.
func (m *model) shift(ms int64) {
	for _, shelf := range m.shelves {
		for id := range shelf {
			shelf[id] -= ms
		}
	}
	for worker, heart := range m.hearts {
		m.hearts[worker] = modelHeart{heart.since - ms, heart.until - ms}
	}
	for id, outcome := range m.outcomes {
		outcome.until -= ms
		m.outcomes[id] = outcome
	}
	for name, lane := range m.lanes {
		lane.used -= ms
		m.lanes[name] = lane
	}
	for digest, lock := range m.locks {
		if lock.until != 0 {
			lock.until -= ms
			m.locks[digest] = lock
		}
	}
	for queue := range m.owing {
		m.owing[queue] -= float64(ms)
	}
	for _, begun := range m.begun {
		for i := range begun {
			begun[i] -= ms
		}
	}
	m.lease.until -= ms
	m.deputy.until -= ms
}

// alive tells whether the worker has a heartbeat.
func (m *model) alive(worker string, now int64) bool { return m.hearts[worker].until > now }

// claim gives the job of the element to the worker.
func (m *model) claim(worker string, claim rdb.Claim) {
	m.claimed[idOf(claim.Element)] = modelClaim{worker, claim.Element, claim.Queue}
	if m.inProcess[worker] == nil {
		m.inProcess[worker] = map[string][]string{}
	}
	m.inProcess[worker][claim.Queue] = append(m.inProcess[worker][claim.Queue], claim.Element)
}

// unclaim removes the exact element, and tells whether it was there. What ends a claim makes room in the limit of its
// queue.
func (m *model) unclaim(worker, queue, element string) bool {
	at := slices.Index(m.inProcess[worker][queue], element)
	if at < 0 {
		return false
	}
	m.inProcess[worker][queue] = slices.Delete(m.inProcess[worker][queue], at, at+1)
	id := idOf(element)
	delete(m.claimed, id)
	delete(m.limbo, id)
	m.count(queue, id, false)
	return true
}

// modelFetch is one fetch under way.
type modelFetch struct {
	rdb.Fetched
	room map[string]int     // of the queues that it looks at
	held map[string]float64 // queues whose jobs may not begin now: ms until they may, or -1
}

// fetch claims like lua/job/fetch.lua and returns the jobs, how many ids were dropped, and what is held back by rules.
func (m *model) fetch(worker string, number int64, wanted int, shares []rdb.Share, now int64) modelFetch {
	f := modelFetch{room: map[string]int{}, held: map[string]float64{}}
	dropped, got := 0, 0
	byQueue := make([][]rdb.FetchedJob, len(shares))
	waits, ruled := map[string]float64{}, map[string]bool{}
	touch := func(queue string) {
		if _, touched := f.room[queue]; !touched {
			f.room[queue], waits[queue], ruled[queue] = m.room(queue, now)
		}
	}
	take := func(i, share int) {
		queue := shares[i].Queue
		if share = min(share, wanted-got); share > 0 {
			touch(queue)
		}
		for share > 0 && f.room[queue] > 0 && len(m.queues[queue]) > 0 {
			id := m.queues[queue][0]
			m.queues[queue] = m.queues[queue][1:]
			job := m.jobs[id]
			if _, held := m.claimed[id]; held || job == nil {
				dropped++
				continue
			}
			element := strconv.FormatInt(number, 10) + ":" + id
			m.claim(worker, rdb.Claim{Queue: queue, Element: element})
			byQueue[i] = append(byQueue[i], rdb.FetchedJob{
				Claim: rdb.Claim{Queue: queue, Element: element}, ID: id, Record: []byte(job.record),
				Trail: bytesOrNil(job.trail), Crashes: strings.Join(job.crashes, " "), Cancelled: m.cancelled[id],
			})
			share, got = share-1, got+1
			if f.room[queue]--; ruled[queue] {
				m.count(queue, id, true)
			}
		}
	}
	for i, share := range shares {
		take(i, share.Jobs)
	}
	for i := range shares {
		take(i, wanted-got)
		if shares[i].Jobs > 0 || len(byQueue[i]) > 0 {
			delete(m.owed, shares[i].Queue)
		}
	}
	for _, share := range shares {
		if share.Jobs > 0 {
			touch(share.Queue)
		}
		if room, touched := f.room[share.Queue]; touched && room < 1 && len(m.queues[share.Queue]) > 0 {
			f.held[share.Queue] = waits[share.Queue]
		}
	}
	m.last[worker] = number
	f.Jobs, f.Dropped = slices.Concat(byQueue...), dropped
	return f
}

// ready are the queues of the worker with jobs waiting.
func (m *model) ready(worker string) []string {
	names := []string{}
	for _, queue := range m.serves[worker] {
		if len(m.queues[queue]) > 0 {
			names = append(names, queue)
		}
	}
	slices.Sort(names)
	return names
}

// complete ends the job if its claim stands. Where there is no rule at all, nobody looks what counts.
func (m *model) complete(worker string, e rdb.Ended, now int64) bool {
	counted := m.counted[e.Queue][e.ID]
	if !m.unclaim(worker, e.Queue, e.Element) {
		return false
	}
	m.count(e.Queue, e.ID, counted && len(m.rules) == 0)
	delete(m.jobs, e.ID)
	m.ended[e.ID] = true
	if e.Keep > 0 {
		m.outcomes[e.ID] = modelOutcome{string(e.Outcome), now + e.Keep.Milliseconds()}
		m.remember(e.State, e.Queue, e.ID, e.Details)
	}
	return true
}

// release puts claims back to the front of their queue and returns the elements that were gone.
func (m *model) release(worker string, r rdb.Released) []string {
	gone, ids := []string{}, []string{}
	for _, element := range r.Elements {
		if !m.unclaim(worker, r.Queue, element) {
			gone = append(gone, element)
			continue
		}
		id := idOf(element)
		ids = append(ids, id)
		if r.Died != "" {
			m.blame(r.Died, element)
			m.noteTaken(worker)[element] = "1"
		}
		if r.Ended {
			m.jobs[id].crashes = nil
		}
	}
	m.queues[r.Queue] = slices.Concat(ids, m.queues[r.Queue])
	return gone
}

// noteTaken is what is known of what was taken from a worker, as of now.
func (m *model) noteTaken(worker string) map[string]string {
	if m.taken[worker] == nil {
		m.taken[worker] = map[string]string{}
	}
	if m.last[worker] > 0 || m.taken[worker]["n"] == "" {
		m.taken[worker]["n"] = strconv.FormatInt(m.last[worker], 10)
	}
	return m.taken[worker]
}

// due moves what the call names, and returns the answer.
func (m *model) due(shelf rdb.Shelf, call rdb.DueCall, now int64) rdb.Due {
	answer := rdb.Due{Stuck: []string{}}
	waiting := m.shelves[shelf]
	for _, w := range call.Move {
		if due, there := waiting[w.ID]; there && due <= now && m.jobs[w.ID].queue == w.Queue {
			delete(waiting, w.ID)
			m.queues[w.Queue] = append(m.queues[w.Queue], w.ID)
			answer.Moved++
		}
	}
	for _, id := range m.order(shelf) {
		w := rdb.Waiting{ID: id, Queue: m.jobs[id].queue, Due: millisTime(waiting[id])}
		if answer.Next.IsZero() {
			answer.Next = w.Due
		}
		if waiting[id] <= now+call.Ahead.Milliseconds() {
			answer.Page = append(answer.Page, w)
		}
	}
	return answer
}

// shelve puts a job on a shelf, behind those that are due in the same ms.
func (m *model) shelve(shelf rdb.Shelf, id string, due int64) {
	m.shelves[shelf][id] = due
	m.shelved++
	m.turns[id] = m.shelved
}

// order are the ids of a shelf as Redis sorts them.
func (m *model) order(shelf rdb.Shelf) []string {
	waiting := m.shelves[shelf]
	return slices.SortedFunc(maps.Keys(waiting), func(a, b string) int {
		return cmp.Or(cmp.Compare(waiting[a], waiting[b]), cmp.Compare(m.turns[a], m.turns[b]))
	})
}

// forget removes a worker that holds nothing.
func (m *model) forget(worker string, queues []string) ([]string, bool) {
	holding := []string{}
	for _, queue := range queues {
		if len(m.inProcess[worker][queue]) > 0 {
			holding = append(holding, queue)
		}
	}
	if len(holding) > 0 {
		return holding, false
	}
	if known := m.serves[worker]; len(known) > 0 &&
		!slices.Equal(slices.Sorted(slices.Values(queues)), slices.Sorted(slices.Values(known))) {
		return holding, false
	}
	if m.dead[worker] && m.last[worker] > 0 {
		m.noteTaken(worker)
	}
	if (m.dead[worker] || m.workers[worker]) && m.stopped[worker] == "" {
		m.stopped[worker] = "died {" + worker + "}"
		if m.absolved[worker] {
			m.stopped[worker] = "fenced {" + worker + "}"
		}
	}
	m.erase(worker)
	if m.lease.holder == worker {
		m.lease = modelLease{}
	}
	if m.deputy.holder == worker {
		m.deputy = modelLease{}
	}
	return holding, true
}

// erase removes what is stored of a worker, its lists excepted.
func (m *model) erase(worker string) {
	delete(m.workers, worker)
	delete(m.dead, worker)
	delete(m.hearts, worker)
	delete(m.timed, worker)
	delete(m.serves, worker)
	delete(m.last, worker)
	delete(m.restores, worker)
	delete(m.running, worker)
	delete(m.absolved, worker)
}

func bytesOrNil(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
