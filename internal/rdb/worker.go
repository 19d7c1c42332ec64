package rdb

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	registerScript    = redisconn.Load("worker/register")
	beatScript        = redisconn.Load("worker/beat")
	declareDeadScript = redisconn.Load("worker/declare_dead")
	forgetScript      = redisconn.Load("worker/forget")
)

// MinWorkerID is how long the id of a worker is at the least: it makes each value of the hash of claims larger than
// Redis packs into a list, in which every write would scan.
const MinWorkerID = 48

// The times that workers and those who look after them agree on.
const (
	// how long a worker counts as alive after its last heartbeat, unless it says otherwise
	BeatLife    = 3 * time.Second
	MinBeatLife = time.Second      // the least that it may say
	MaxBeatLife = 10 * time.Minute // the most
	LeaseLife   = 3 * time.Second  // how long the lease, or the place of the deputy, is somebody's
	// ClaimSettled is the age of a claim before which nobody looks into it: it may be on its way to its worker.
	ClaimSettled = 10 * time.Second
)

// The bounds of the list of workers that have stopped: see [Worker.Forget].
const (
	StoppedKept = 7 * 24 * time.Hour
	MaxStopped  = 1000
)

// The fields of the hash of a worker in which its heartbeats tell what it has run, and how busy it was.
const (
	InfoRan  = "ran"
	InfoLoad = "load"
	// InfoGroup is the same for workers of several partitions that have the same processors.
	InfoGroup = "group"
	// InfoLabels are the labels of the worker, with commas between; absent where it has none.
	InfoLabels = "labels"
)

// Worker is one worker as Redis sees it. Its methods may be called concurrently, except that one goroutine at a time
// fetches and surveys.
type Worker struct {
	ID string
	// how long before a rate lets it begin a fetch may take a job, less than a second; the fetching goroutine's
	Ahead time.Duration
	store *Store
	keys  *workerKeys
	sizes map[string]int // of the records of each queue, as last fetched; the fetching goroutine's
	spare []FetchedJob   // to read into; the fetching goroutine's

	memory
}

// Worker returns the worker of that id. It is known to Redis once it registers.
func (s *Store) Worker(id string) *Worker {
	return &Worker{ID: id, store: s, keys: s.keys.worker(id), sizes: map[string]int{}}
}

// Registration is what a worker tells of itself.
type Registration struct {
	Life   time.Duration     // how long a heartbeat lasts
	Epoch  string            // a random value, stored only if there is none
	Former string            // the id that it had before it was fenced; that one is then taken apart
	Info   map[string]string // what it is: host, pid, ...
	Queues []string
}

// Register makes the worker known and returns Redis' clock and epoch. It may be repeated: one that was cut off has made
// it known with some of its queues, of which it then holds nothing. The error is an *[OutdatedError], and nothing was
// written, where a newer program has changed the layout.
func (w *Worker) Register(ctx context.Context, reg Registration) (time.Time, string, error) {
	k := w.store.keys
	keys := []string{w.keys.heart, k.workers, w.keys.queues, w.keys.info, k.queues, k.epoch, k.dead, k.deadlines,
		k.served, k.layout}
	args := []any{w.ID, millis(reg.Life), reg.Epoch, reg.Former, Layout, OldestLayout, len(reg.Info)}
	for _, field := range slices.Sorted(maps.Keys(reg.Info)) {
		args = append(args, field, reg.Info[field])
	}
	n := min(len(reg.Queues), MaxBatch)
	calls := []redisconn.Call{{Script: registerScript, Keys: keys, Args: appendTexts(args, reg.Queues[:n])}}
	for batch := range slices.Chunk(reg.Queues[n:], MaxBatch) {
		args := []any{w.ID, millis(reg.Life), reg.Epoch, reg.Former, Layout, OldestLayout, 0}
		calls = append(calls, redisconn.Call{Script: registerScript, Keys: keys, Args: appendTexts(args, batch)})
	}
	values, err := w.store.many(ctx, calls)
	if err != nil {
		return time.Time{}, "", err
	}
	r := redisconn.Read("worker/register", values[len(values)-1])
	at, epoch := r.Number(), r.Text()
	if r.Err() == nil && at == 0 {
		return time.Time{}, "", k.outdated(epoch)
	}
	return fromMillis(at), epoch, r.Err()
}

// CheckIn is the last message of a running job.
type CheckIn struct {
	ID      string
	Number  string // of the fetch that claimed it
	Message string
}

// Beat is one heartbeat.
type Beat struct {
	Life  time.Duration
	Epoch string
	// how long the lease on maintenance lasts, or the place of its deputy, if it gets one; 0 wants neither
	Lease    time.Duration
	Waits    bool   // it has nothing to do, and asks whether one of its queues has jobs
	Ran      string // what it has run, for [InfoRan]; empty where that is as told before
	Load     string // for [InfoLoad]; empty where that is as told before
	CheckIns []CheckIn
	Ended    []string         // ids that checked in before and have ended
	Along    []redisconn.Call // sent in the same pipeline
}

// Pulse is the answer to a heartbeat.
type Pulse struct {
	State         State
	Time          time.Time
	Leased        bool      // this worker does the maintenance
	Deputy        bool      // this worker looks after the others too, since the one that does the maintenance may die
	Called        bool      // it waits, and one of its queues has jobs
	NextScheduled time.Time // zero when nothing is scheduled; told only to the one with the lease
	NextRetry     time.Time
	// of the schedules: it is another one after each change; told only to the one with the lease
	Revision string
	Flags    int               // how many jobs of the namespace are to be cancelled: see Store.Flagged
	Wanted   string            // what somebody wants it to do: pause, quiet, stop or now, else empty
	Workers  int               // how many are registered
	Asked    string            // tokens of questions that it has not answered, with blanks between
	Outdated error             // an *OutdatedError where a newer program has changed the layout
	Map      int64             // the version of the map of the partitions that is known there; 0 where there is none
	Along    []redisconn.Reply // to the calls that were sent along
}

// The places in which a worker looks after the others.
const (
	placeLease  = 1
	placeDeputy = 2
)

// Beat keeps the worker alive. It goes over a connection of its own, since it must not queue behind work.
func (w *Worker) Beat(ctx context.Context, conn redisconn.Conn, beat Beat) (Pulse, error) {
	before := w.remembers() // before it is sent: what is acknowledged meanwhile Redis need not know yet
	k := w.store.keys
	args := []any{w.ID, millis(beat.Life), beat.Epoch, millis(beat.Lease), beat.Waits, beat.Ran, beat.Load,
		len(beat.CheckIns)}
	for _, c := range beat.CheckIns {
		args = append(args, c.ID, c.Number, c.Message)
	}
	for _, id := range beat.Ended {
		args = append(args, id)
	}
	replies, err := conn.Pipeline(ctx, append([]redisconn.Call{{
		Script: beatScript,
		Keys: []string{
			w.keys.heart, k.workers, k.epoch, k.lease, k.scheduled, k.retry, w.keys.running, k.claimed,
			k.revision, w.keys.info, k.cancelled, k.deadlines, k.deputy, k.ready, w.keys.queues, k.layout, k.lanes,
		},
		Args: args,
	}}, beat.Along...)...)
	if err != nil {
		return Pulse{}, err
	}
	if replies[0].Err != nil {
		return Pulse{}, replies[0].Err
	}
	r := redisconn.Read("worker/beat", replies[0].Value)
	pulse := Pulse{State: State(r.Text())}
	if len(beat.Along) > 0 {
		pulse.Along = replies[1:]
	}
	if pulse.State != Registered {
		return pulse, r.Err()
	}
	pulse.Time = fromMillis(r.Number())
	place := r.Number()
	pulse.Leased, pulse.Deputy = place == placeLease, place == placeDeputy
	pulse.NextScheduled, pulse.NextRetry = fromMillis(r.Number()), fromMillis(r.Number())
	pulse.Revision = r.Text()
	pulse.Wanted = r.Text()
	pulse.Flags = int(r.Number())
	pulse.Called = r.Number() == 1
	pulse.Workers = int(r.Number())
	pulse.Outdated = k.outdated(r.Text())
	pulse.Asked = r.Text()
	last := toNumber(r.Text())
	pulse.Map = toNumber(r.Text())
	if r.Err() == nil {
		w.compare(before, last)
	}
	return pulse, r.Err()
}

// Workers returns the ids that are registered and those that are being taken apart.
func (s *Store) Workers(ctx context.Context) (registered, dead []string, err error) {
	replies, err := s.driver.Pipeline(ctx,
		redisconn.Call{Command: "SMEMBERS", Args: []any{s.keys.workers}},
		redisconn.Call{Command: "SMEMBERS", Args: []any{s.keys.dead}})
	if err != nil {
		return nil, nil, err
	}
	for _, reply := range replies {
		if reply.Err != nil {
			return nil, nil, reply.Err
		}
	}
	r := redisconn.NewReader("SMEMBERS", nil, nil)
	return r.TextsOf(replies[0].Value), r.TextsOf(replies[1].Value), r.Err()
}

// Registered returns the ids that are registered.
func (s *Store) Registered(ctx context.Context) ([]string, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SMEMBERS", Args: []any{s.keys.workers}})
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("SMEMBERS", value, nil)
	ids := r.TextsOf(value)
	return ids, r.Err()
}

// Alive tells which of the workers have a heartbeat, all in one look.
func (s *Store) Alive(ctx context.Context, ids []string) (map[string]bool, error) {
	alive := make(map[string]bool, len(ids))
	if len(ids) == 0 {
		return alive, nil
	}
	hearts := redisconn.Call{Command: "MGET", Args: make([]any, 0, len(ids))}
	for _, id := range ids {
		hearts.Args = append(hearts.Args, s.keys.prefix+"worker:"+id)
	}
	value, err := redisconn.Do(ctx, s.driver, hearts)
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("MGET", value)
	for _, id := range ids {
		alive[id] = r.Next() != nil
	}
	return alive, r.Err()
}

// DeclareDead takes those workers that have no heartbeat out of the registered ones, if this worker was steady itself
// for as long as a heartbeat of each lasts: that long, for one that did not tell. It returns those that are dead, now
// or before.
func (w *Worker) DeclareDead(ctx context.Context, life time.Duration, targets ...string) (dead []string, err error) {
	k := w.store.keys
	for len(targets) > 0 {
		n := min(len(targets), MaxBatch)
		keys, args := []string{w.keys.heart, k.workers, k.dead, k.deadlines, k.deaths},
			[]any{millis(life), millis(MaxBeatLife)}
		for _, target := range targets[:n] {
			keys, args = append(keys, k.prefix+"worker:"+target, k.worker(target).info), append(args, target)
		}
		call := redisconn.Call{Script: declareDeadScript, Keys: keys, Args: args}
		value, err := redisconn.Do(ctx, w.store.driver, call)
		if err != nil {
			return dead, err
		}
		r := redisconn.NewReader(declareDeadScript.Name, value, nil)
		if dead = append(dead, r.TextsOf(value)...); r.Err() != nil {
			return dead, r.Err()
		}
		targets = targets[n:]
	}
	return dead, nil
}

// Queues returns the names that the worker serves, as Redis knows them.
func (w *Worker) Queues(ctx context.Context) ([]string, error) {
	value, err := redisconn.Do(ctx, w.store.driver, redisconn.Call{Command: "SMEMBERS", Args: []any{w.keys.queues}})
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader("SMEMBERS", value, nil)
	names := r.TextsOf(value)
	return names, r.Err()
}

// Holding returns those of the queues of which the worker has jobs in process, or may have: what is wrong with its key
// is told by [Worker.InProcess].
func (w *Worker) Holding(ctx context.Context, queues []string) (holding []string, err error) {
	calls := make([]redisconn.Call, len(queues))
	for i, queue := range queues {
		calls[i] = redisconn.Call{Command: "LLEN", Args: []any{w.keys.inprocess(queue)}}
	}
	replies, err := w.store.pipelines(ctx, maxBrief, calls)
	for i, reply := range replies {
		if reply.Value != int64(0) {
			holding = append(holding, queues[i])
		}
	}
	return holding, err
}

// InProcess is what a worker has of one queue.
type InProcess struct {
	Elements []string // the newest, oldest of them first
	Err      error    // with which Redis refused to tell
}

// InProcess reads so many elements of each of the worker's lists of queues. Lists are emptied from their newest part,
// so that the oldest jobs come to stand at the very front of the queue.
func (w *Worker) InProcess(ctx context.Context, queues []string, most int) ([]InProcess, error) {
	calls := make([]redisconn.Call, len(queues))
	for i, queue := range queues {
		calls[i] = redisconn.Call{Command: "LRANGE", Args: []any{w.keys.inprocess(queue), 0, most - 1}}
	}
	replies, err := w.store.pipelines(ctx, maxPipeline, calls)
	if err != nil {
		return nil, err
	}
	lists := make([]InProcess, len(replies))
	for i, reply := range replies {
		if lists[i].Err = reply.Err; reply.Err == nil {
			r := redisconn.NewReader("LRANGE", reply.Value, nil)
			lists[i].Elements = r.TextsOf(reply.Value)
			lists[i].Err = r.Err()
		}
		slices.Reverse(lists[i].Elements)
	}
	return lists, nil
}

// Forget removes the worker if it holds nothing. It answers the queues that it still holds jobs of, and true once it is
// gone; false without queues means that the names given are not those that Redis knows. More than [MaxBatch] names only
// a worker may have that is dead, or not known: one that is registered leaves them first, see [Worker.Serve]. The text
// then stands in the list of [Store.Stopped].
func (w *Worker) Forget(ctx context.Context, queues []string, text string) (holding []string, gone bool, err error) {
	k := w.store.keys
	var calls []redisconn.Call
	for {
		batch := queues[:min(len(queues), MaxBatch)]
		keys := []string{
			k.workers, k.dead, w.keys.heart, w.keys.queues, w.keys.info, w.keys.running, k.lease, k.deputy, k.deadlines,
			w.keys.taken, k.stopped, k.stoppedInfo,
		}
		for _, queue := range batch {
			keys = append(keys, w.keys.inprocess(queue))
		}
		args := []any{w.ID, text, millis(StoppedKept), MaxStopped}
		calls = append(calls, redisconn.Call{Script: forgetScript, Keys: keys, Args: appendTexts(args, batch)})
		if queues = queues[len(batch):]; len(queues) == 0 {
			break
		}
	}
	values, err := w.store.many(ctx, calls)
	holding = []string{}
	for _, value := range values {
		r := redisconn.Read("worker/forget", value)
		gone = r.Text() == "gone"
		if holding = append(holding, r.Texts()...); r.Err() != nil {
			return nil, false, r.Err()
		}
	}
	return holding, gone && len(holding) == 0, err
}
