package rdb

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	fetchScript  = redisconn.Load("job/fetch")
	surveyScript = redisconn.Load("worker/survey")
	aheadScript  = redisconn.Load("worker/note_prefetch")
	wakeScript   = redisconn.Load("job/wake")
)

// MaxQueues is how many queues one fetch names at the most.
const MaxQueues = 64

// maxSurvey is how many elements of one queue a survey tells. A worker holds no more than 768 jobs of one queue, and a
// thousand each of those that wait for other jobs and of outcomes that are refused; a fetch whose reply was lost added
// at most [MaxBatch]: were fewer told, those held could hide those lost for ever.
const maxSurvey = 7 * MaxBatch

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

	// Rewound is the answer where Redis knows of an older call only than it had acknowledged: it has lost some of what
	// it knew, as a replica that takes over may. Nothing was done. See Worker.FellBack.
	Rewound State = "rewound"
)

// Share is how many jobs a fetch wants from one queue.
type Share struct {
	Queue string
	Jobs  int // 0: only to fill up what the others could not give
	Most  int // how many in all, those that fill up included; 0 is no limit
}

// FetchedJob is a claim with what is stored of its job.
type FetchedJob struct {
	Claim
	ID      string
	Record  []byte
	Trail   []byte // nil when nothing happened to it yet
	Crashes string // words about the workers that died holding it, with spaces between: see release.lua

	Cancelled bool          // it is to end as cancelled, without being run
	In        time.Duration // after which it may begin, from the moment of the fetch: see Worker.Ahead
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

	// queues whose jobs may not begin now: in how long one may, negative where that is not known
	Held map[string]time.Duration
	// queues of which all that waits by turns waits for the rate of its key: in how long a key may begin one
	Later map[string]time.Duration
}

// Fetch claims up to wanted jobs, first from each queue its share, then from any of them. number must be larger than
// that of every fetch and survey of this worker before. A fetch is never resent: after an error the worker surveys.
func (w *Worker) Fetch(ctx context.Context, number int64, wanted int, ask bool, shares []Share) (Fetched, error) {
	k := w.store.keys
	keys := make([]string, 0, 21+5*len(shares))
	keys = append(keys, w.keys.info, k.workers, k.claimed, k.jobs, k.trail, k.crashes, k.ready, w.keys.queues, k.limits,
		k.cancelled, k.departed)
	keys = k.lines(keys)
	args, before := make([]any, 0, 7+4*len(shares)), w.remembers()
	args = append(args, w.ID, number, wanted, ask, maxFetchBytes, w.Ahead.Nanoseconds(), before.reached)
	for _, share := range shares {
		keys = append(k.queue(share.Queue).appendTo(keys), w.keys.inprocess(share.Queue))
		args = append(args, share.Queue, share.Jobs, w.firstLot(share.Queue), cmp.Or(share.Most, MaxBatch))
	}
	value, err := redisconn.Do(ctx, w.store.driver, redisconn.Call{Script: fetchScript, Keys: keys, Args: args})
	if err != nil {
		return Fetched{}, err
	}
	fetched, err := parseFetched(value, number, shares, w.spare)
	switch {
	case fetched.State == Rewound:
		w.compare(before, knownOf(value))
	case fetched.State == Registered && len(shares) > 0:
		w.reached.Store(number)
	}
	w.spare = nil
	w.weigh(fetched.Jobs)
	return fetched, err
}

// knownOf is the last number that Redis knows, from an answer that begins with Rewound.
func knownOf(value any) int64 {
	r := redisconn.Read("rewound", value)
	r.Text()
	return r.Number()
}

// Recycle takes the jobs of a fetch back, once the caller has no use for the slice, to read the next ones into it.
func (w *Worker) Recycle(jobs []FetchedJob) {
	clear(jobs)
	w.spare = jobs[:0]
}

// firstLot is how many records of a queue the script may read before it knows their size: as many as filled a quarter
// of the reply if they were as large as the last ones, and two where none was seen.
func (w *Worker) firstLot(queue string) int {
	size := w.sizes[queue]
	if size == 0 {
		return 2
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

// parseFetched reads the answer, the jobs into spare if that is large enough.
func parseFetched(value any, number int64, shares []Share, spare []FetchedJob) (Fetched, error) {
	r := redisconn.Read("job/fetch", value)
	answer := Fetched{State: State(r.Text())}
	if answer.State != Registered {
		return answer, r.Err()
	}
	answer.Time = parseMoment(r.Text())
	if ready := r.Next(); ready != nil {
		answer.Asked = true
		answer.Ready = r.TextsOf(ready)
	}
	answer.Broken = r.Texts()
	answer.Dropped = int(r.Number())
	answer.Held, answer.Later = readWaits(r.List()), readWaits(r.List())
	prefix := elementPrefix(number)
	answer.Jobs = spare
	for r.More() {
		answer.Jobs = appendRound(answer.Jobs, r.List(), shares, prefix)
	}
	return answer, r.Err()
}

// readWaits reads names, each with so many us.
func readWaits(r *redisconn.Reader) map[string]time.Duration {
	if !r.More() {
		return nil
	}
	waits := map[string]time.Duration{}
	for r.More() {
		name := r.Text()
		waits[name] = time.Duration(r.Number()) * time.Microsecond
	}
	return waits
}

// appendRound reads how many jobs of which queues there are and when they may begin, and lists of what belongs to each.
func appendRound(jobs []FetchedJob, round *redisconn.Reader, shares []Share, prefix string) []FetchedJob {
	parts, ids, records := round.List(), round.List(), round.List()
	trails, crashes, cancelled, waits := round.List(), round.List(), round.List(), round.List()
	jobs = slices.Grow(jobs, ids.Len())
	for parts.More() {
		queue, count := int(parts.Number())-1, int(parts.Number())
		micros, between := parts.Number(), parts.Number()
		if queue < 0 || queue >= len(shares) {
			round.Fail()
			break
		}
		for range count {
			element := ids.After(prefix)
			job := FetchedJob{ID: element[len(prefix):], Record: records.Bytes(),
				In: time.Duration(max(0, micros)) * time.Microsecond}
			micros += between
			if waits.Len() > 0 {
				job.In = max(job.In, time.Duration(waits.Number())*time.Microsecond)
			}
			if trails.Len() > 0 {
				job.Trail = trails.Bytes()
			}
			if crashes.Len() > 0 {
				job.Crashes = crashes.Text()
			}
			if cancelled.Len() > 0 {
				job.Cancelled = cancelled.Number() == 1
			}
			job.Claim = Claim{Queue: shares[queue].Queue, Element: element}
			jobs = append(jobs, job)
		}
	}
	for _, list := range []*redisconn.Reader{ids, records, trails, crashes, cancelled, waits} {
		if list.Err() != nil || list.Len() > 0 {
			round.Fail()
		}
	}
	return jobs
}

// Survey returns what Redis thinks the worker holds of these queues, at most maxSurvey of each, oldest first, and
// makes sure that no fetch with a smaller number can still land. The caller releases what it does not hold.
func (w *Worker) Survey(ctx context.Context, number int64, queues []string) (State, []Claim, error) {
	keys, before := make([]string, 0, 2+len(queues)), w.remembers()
	keys = append(keys, w.keys.info, w.store.keys.workers)
	for _, queue := range queues {
		keys = append(keys, w.keys.inprocess(queue))
	}
	value, err := redisconn.Do(ctx, w.store.driver,
		redisconn.Call{Script: surveyScript, Keys: keys, Args: []any{w.ID, number, before.reached, maxSurvey}})
	if err != nil {
		return "", nil, err
	}
	r := redisconn.Read("worker/survey", value)
	state := State(r.Text())
	if state == Rewound {
		w.compare(before, r.Number())
	}
	if state != Registered {
		return state, nil, r.Err()
	}
	r.Number() // of the call before this one
	w.reached.Store(number)
	var claims []Claim
	for i := 0; r.More() && i < len(queues); i++ {
		for _, element := range r.Texts() {
			claims = append(claims, Claim{Queue: queues[i], Element: element})
		}
	}
	return state, claims, r.Err()
}

// NotePrefetch notes that the worker claims up to so many jobs more than it runs, or with 0 no more than those.
// Whoever finds it dead then blames none of what it held, unless it is known to have begun. It returns false where the
// worker is not registered.
func (w *Worker) NotePrefetch(ctx context.Context, most int) (bool, error) {
	value, err := redisconn.Do(ctx, w.store.driver, redisconn.Call{Script: aheadScript,
		Keys: []string{w.store.keys.workers, w.keys.info}, Args: []any{w.ID, most}})
	noted, _ := value.(int64)
	return err == nil && noted == 1, err
}

// Wait blocks on a connection of its own until one of the queues has a token for this worker, and returns its name; it
// returns "" when there was none for that long. The first key with data is served, so the caller shuffles the names.
func (s *Store) Wait(ctx context.Context, conn redisconn.Conn, queues []string, timeout time.Duration) (string, error) {
	call := redisconn.Call{Command: "BLPOP", Block: timeout, Args: make([]any, 0, len(queues)+1)}
	for _, queue := range queues {
		call.Args = append(call.Args, s.keys.queue(queue).wake)
	}
	call.Args = append(call.Args, redisconn.BlockFor(timeout))
	value, err := redisconn.Do(ctx, conn, call)
	if err != nil || value == nil {
		return "", err
	}
	r := redisconn.Read("BLPOP", value)
	key := r.Text()
	return key[min(len(key), len(s.keys.prefix)+len("wake:")):], r.Err()
}

// Wake leaves a token for each of these queues that has jobs waiting and no token: for those that a worker took and
// will not use. Where a rate is in the way somebody is called to wait for it.
func (s *Store) Wake(ctx context.Context, queues []string) error { return s.wake(ctx, queues, false) }

// WakeAfterEnd does so for queues of which jobs have ended. That makes no room in a rate, for which somebody waits
// already.
func (s *Store) WakeAfterEnd(ctx context.Context, queues []string) error {
	return s.wake(ctx, queues, true)
}

func (s *Store) wake(ctx context.Context, queues []string, ended bool) error {
	var calls []redisconn.Call
	for batch := range slices.Chunk(queues, MaxBatch) {
		keys := append(make([]string, 0, 4+4*len(batch)), s.keys.limits, s.keys.turns, s.keys.turning,
			s.keys.waking)
		for _, queue := range batch {
			keys = s.keys.queue(queue).appendTo(keys)
		}
		calls = append(calls, redisconn.Call{Script: wakeScript, Keys: keys, Args: appendTexts([]any{ended}, batch)})
	}
	_, err := s.many(ctx, calls)
	return err
}

// DropBrokenTokens removes the tokens of queues whose key is no list, and returns those keys.
func (s *Store) DropBrokenTokens(ctx context.Context, queues []string) ([]string, error) {
	calls := make([]redisconn.Call, len(queues))
	for i, queue := range queues {
		calls[i] = redisconn.Call{Command: "LLEN", Args: []any{s.keys.queue(queue).wake}}
	}
	replies, err := s.pipelines(ctx, maxBrief, calls)
	if err != nil {
		return nil, err
	}
	var broken []string
	var drops []redisconn.Call
	for i, reply := range replies {
		if reply.Err != nil && redisconn.MeaningOf(reply.Err) == redisconn.OfCall {
			key := s.keys.queue(queues[i]).wake
			broken, drops = append(broken, key), append(drops, redisconn.Call{Command: "UNLINK", Args: []any{key}})
		}
	}
	_, err = s.brief(ctx, drops)
	return broken, err
}
