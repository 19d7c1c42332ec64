package rdb

import (
	"context"
	"time"
)

var (
	fetchScript  = load("fetch")
	surveyScript = load("survey")
	wakeScript   = load("wake")
)

// MaxQueues is how many queues one fetch names at the most.
const MaxQueues = 64

// maxSurvey is how many elements of one queue a survey tells. A worker holds no more than 512 jobs of one queue, and a
// fetch whose reply was lost added at most [MaxBatch]: were fewer told, those held could hide those lost for ever.
const maxSurvey = 4 * MaxBatch

// maxFetchBytes bounds the reply to a fetch.
const maxFetchBytes = 4 << 20

// State is how Redis sees a worker.
type State string

// The states of a worker.
const (
	Registered State = "ok"
	Fenced     State = "fenced" // a reaper took it out of workers: its jobs run elsewhere
	Stale      State = "stale"  // the number of the call is not new: it was given up and came late
	Lost       State = "lost"   // Redis lost data (another epoch): the worker should register again
)

// Share is how many jobs a fetch wants from one queue.
type Share struct {
	Queue string
	Jobs  int // 0: only to fill up what the others could not give
}

// Claim is a job that a worker holds: fetch number, queue and id name it among all claims there ever were.
type Claim struct {
	Queue   string
	Element string // "<n>:<id>", as it stands in the worker's in-process list
}

// FetchedJob is a claim with what is stored of its job.
type FetchedJob struct {
	Claim
	ID      string
	Record  []byte
	Trail   []byte // nil when nothing happened to it yet
	Crashes string // ids of the workers that died holding it, with spaces between
}

// Fetched is the answer to a fetch.
type Fetched struct {
	State   State
	Time    time.Time
	Jobs    []FetchedJob
	Asked   bool     // Ready was asked for and answered
	Ready   []string // queues of this worker with jobs waiting
	Broken  []string // keys that have a wrong type; the other queues were served
	Dropped int      // ids that had no record, or were claimed already
}

// Fetch claims up to wanted jobs, first from each queue its share, then from any of them. number must be larger than
// that of every fetch and survey of this worker before. A fetch is never resent: after an error the worker surveys.
func (w *Worker) Fetch(ctx context.Context, number int64, wanted int, ask bool, shares []Share) (Fetched, error) {
	k := w.store.keys
	keys := make([]string, 0, 8+3*len(shares))
	keys = append(keys, w.keys.info, k.workers, k.claimed, k.jobs, k.trail, k.crashes, k.ready, w.keys.queues)
	args := make([]any, 0, 5+3*len(shares))
	args = append(args, w.ID, number, wanted, ask, maxFetchBytes)
	for _, share := range shares {
		of := k.queue(share.Queue)
		keys = append(keys, of.queue, w.keys.inprocess(share.Queue), of.wake)
		args = append(args, share.Queue, share.Jobs, w.firstLot(share.Queue))
	}
	value, err := do(ctx, w.store.driver, Call{Script: fetchScript, Keys: keys, Args: args})
	if err != nil {
		return Fetched{}, err
	}
	fetched, err := parseFetched(value, number, shares)
	w.weigh(fetched.Jobs)
	return fetched, err
}

// firstLot is how many records of a queue the script may read before it knows their size: as many as filled a quarter
// of the reply if they were as large as the last ones, and a few where none was seen.
func (w *Worker) firstLot(queue string) int {
	size := w.sizes[queue]
	if size == 0 {
		return 8
	}
	return min(MaxBatch, max(1, maxFetchBytes/4/size))
}

// weigh notes how large the records of each queue were.
func (w *Worker) weigh(jobs []FetchedJob) {
	for from := 0; from < len(jobs); {
		to, bytes := from, 0
		for to < len(jobs) && jobs[to].Queue == jobs[from].Queue {
			bytes += len(jobs[to].Record)
			to++
		}
		w.sizes[jobs[from].Queue] = max(1, bytes/(to-from))
		from = to
	}
}

func parseFetched(value any, number int64, shares []Share) (Fetched, error) {
	r := read("fetch", value)
	answer := Fetched{State: State(r.text())}
	if answer.State != Registered {
		return answer, r.err
	}
	answer.Time = fromMillis(r.number())
	if ready := r.next(); ready != nil {
		answer.Asked = true
		answer.Ready = texts(r, ready)
	}
	answer.Broken = r.texts()
	answer.Dropped = int(r.number())
	prefix := elementPrefix(number)
	for _, share := range shares {
		list, ok := r.next().([]any)
		if !ok {
			r.fail()
			break
		}
		lots := &reader{script: r.script, whole: value, rest: list}
		for lots.more() {
			answer.Jobs = appendLot(answer.Jobs, lots, share.Queue, prefix)
		}
		if lots.err != nil {
			r.fail()
		}
	}
	return answer, r.err
}

// appendLot reads four lists of the same length: ids, records, and trails and crashes where any job has some.
func appendLot(jobs []FetchedJob, lots *reader, queue, prefix string) []FetchedJob {
	ids, records, trails, crashes := lots.list(), lots.list(), lots.list(), lots.list()
	for ids.more() {
		job := FetchedJob{ID: ids.text(), Record: records.bytes()}
		if len(trails.rest) > 0 {
			job.Trail = trails.bytes()
		}
		if len(crashes.rest) > 0 {
			job.Crashes = crashes.text()
		}
		job.Claim = Claim{Queue: queue, Element: prefix + job.ID}
		jobs = append(jobs, job)
	}
	if ids.err != nil || records.err != nil || trails.err != nil || crashes.err != nil {
		lots.fail()
	}
	return jobs
}

// Survey returns what Redis thinks the worker holds of these queues, oldest first, and makes sure that no fetch with a
// smaller number can still land. The caller releases what it does not hold.
func (w *Worker) Survey(ctx context.Context, number int64, queues []string) (State, []Claim, error) {
	keys := make([]string, 0, 2+len(queues))
	keys = append(keys, w.keys.info, w.store.keys.workers)
	for _, queue := range queues {
		keys = append(keys, w.keys.inprocess(queue))
	}
	value, err := do(ctx, w.store.driver, Call{Script: surveyScript, Keys: keys, Args: []any{w.ID, number, maxSurvey}})
	if err != nil {
		return "", nil, err
	}
	r := read("survey", value)
	state := State(r.text())
	var claims []Claim
	for i := 0; r.more() && i < len(queues); i++ {
		for _, element := range r.texts() {
			claims = append(claims, Claim{Queue: queues[i], Element: element})
		}
	}
	return state, claims, r.err
}

// Wait blocks on a connection of its own until one of the queues has a token for this worker, and returns its name; it
// returns "" when there was none for that long. The first key with data is served, so the caller shuffles the names.
func (s *Store) Wait(ctx context.Context, conn Conn, queues []string, timeout time.Duration) (string, error) {
	call := Call{Command: "BLPOP", Block: timeout, Args: make([]any, 0, len(queues)+1)}
	for _, queue := range queues {
		call.Args = append(call.Args, s.keys.queue(queue).wake)
	}
	call.Args = append(call.Args, formatSeconds(timeout))
	value, err := do(ctx, conn, call)
	if err != nil || value == nil {
		return "", err
	}
	r := read("BLPOP", value)
	key := r.text()
	return key[min(len(key), len(s.keys.prefix)+len("wake:")):], r.err
}

// Wake leaves a token for each of these queues that has jobs waiting and no token: for those that a worker took and
// will not use.
func (s *Store) Wake(ctx context.Context, queues []string) error {
	for len(queues) > 0 {
		n := min(len(queues), MaxBatch)
		keys := make([]string, 0, 2*n)
		for _, queue := range queues[:n] {
			of := s.keys.queue(queue)
			keys = append(keys, of.queue, of.wake)
		}
		if _, err := do(ctx, s.driver, Call{Script: wakeScript, Keys: keys}); err != nil {
			return err
		}
		queues = queues[n:]
	}
	return nil
}

// DropBrokenTokens removes the tokens of queues whose key is no list, and returns those keys.
func (s *Store) DropBrokenTokens(ctx context.Context, queues []string) ([]string, error) {
	var broken []string
	for len(queues) > 0 {
		n := min(len(queues), MaxQueues)
		calls := make([]Call, n)
		for i, queue := range queues[:n] {
			calls[i] = Call{Command: "LLEN", Args: []any{s.keys.queue(queue).wake}}
		}
		replies, err := s.driver.Pipeline(ctx, calls...)
		if err != nil {
			return broken, err
		}
		for i, reply := range replies {
			if reply.Err != nil {
				broken = append(broken, s.keys.queue(queues[i]).wake)
			}
		}
		queues = queues[n:]
	}
	for _, key := range broken {
		if _, err := do(ctx, s.driver, Call{Command: "UNLINK", Args: []any{key}}); err != nil {
			return broken, err
		}
	}
	return broken, nil
}
