package rdb

import (
	"context"
	"time"
)

var (
	registerScript = Load("register")
	beatScript     = Load("beat")
	condemnScript  = Load("condemn")
	forgetScript   = Load("forget")
)

// MinWorkerID is how long the id of a worker is at the least: it makes each value of the hash of claims larger than
// Redis packs into a list, in which every write would scan.
const MinWorkerID = 48

// Worker is one worker as Redis sees it. Its methods may be called concurrently, except that one goroutine at a time
// fetches and surveys.
type Worker struct {
	ID    string
	store *Store
	keys  *workerKeys
	sizes map[string]int // of the records of each queue, as last fetched; the fetching goroutine's
	spare []FetchedJob   // to read into; the fetching goroutine's
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

// Register makes the worker known, in steps of [MaxBatch] queues, and returns Redis' clock and
// epoch. It may be repeated.
func (w *Worker) Register(ctx context.Context, reg Registration) (time.Time, string, error) {
	k := w.store.keys
	queues := reg.Queues
	for {
		n := min(len(queues), MaxBatch)
		args := []any{w.ID, millis(reg.Life), reg.Epoch, reg.Former, len(reg.Info)}
		for field, value := range reg.Info {
			args = append(args, field, value)
		}
		for _, queue := range queues[:n] {
			args = append(args, queue)
		}
		queues = queues[n:]
		value, err := Do(ctx, w.store.driver, Call{
			Script: registerScript,
			Keys:   []string{w.keys.heart, k.workers, w.keys.queues, w.keys.info, k.queues, k.epoch, k.dead},
			Args:   args,
		})
		if err != nil {
			return time.Time{}, "", err
		}
		if len(queues) == 0 {
			r := Read("register", value)
			at, epoch := fromMillis(r.Number()), r.Text()
			return at, epoch, r.err
		}
	}
}

// CheckIn is the last message of a running job.
type CheckIn struct {
	ID      string
	Number  string // of the fetch that claimed it
	Message string
}

// Beat is one heartbeat.
type Beat struct {
	Life     time.Duration
	Epoch    string
	Lease    time.Duration // how long the lease on maintenance lasts, if it gets it; 0 does not want it
	CheckIns []CheckIn
	Ended    []string // ids that checked in before and have ended
	Along    []Call   // sent in the same pipeline
}

// Pulse is the answer to a heartbeat.
type Pulse struct {
	State         State
	Time          time.Time
	Leased        bool      // this worker does the maintenance
	NextScheduled time.Time // zero when nothing is scheduled; told only to the one with the lease
	NextRetry     time.Time
	Revision      string  // of the schedules: it is another one after each change; told only to the one with the lease
	Flags         int     // how many jobs of the namespace are to be cancelled: see Store.Flagged
	Wanted        string  // what somebody wants it to do: pause, quiet or stop, else empty
	Along         []Reply // to the calls that were sent along
}

// Beat keeps the worker alive. It goes over a connection of its own, since it must not queue behind work.
func (w *Worker) Beat(ctx context.Context, conn Conn, beat Beat) (Pulse, error) {
	k := w.store.keys
	args := []any{w.ID, millis(beat.Life), beat.Epoch, millis(beat.Lease), len(beat.CheckIns)}
	for _, c := range beat.CheckIns {
		args = append(args, c.ID, c.Number, c.Message)
	}
	for _, id := range beat.Ended {
		args = append(args, id)
	}
	replies, err := conn.Pipeline(ctx, append([]Call{{
		Script: beatScript,
		Keys: []string{
			w.keys.heart, k.workers, k.epoch, k.lease, k.scheduled, k.retry, w.keys.running, k.claimed,
			k.revision, w.keys.info, k.cancelled,
		},
		Args: args,
	}}, beat.Along...)...)
	if err != nil {
		return Pulse{}, err
	}
	if replies[0].Err != nil {
		return Pulse{}, replies[0].Err
	}
	r := Read("beat", replies[0].Value)
	pulse := Pulse{State: State(r.Text())}
	if len(beat.Along) > 0 {
		pulse.Along = replies[1:]
	}
	if pulse.State != Registered {
		return pulse, r.err
	}
	pulse.Time = fromMillis(r.Number())
	pulse.Leased = r.Number() == 1
	pulse.NextScheduled, pulse.NextRetry = fromMillis(r.Number()), fromMillis(r.Number())
	pulse.Revision = r.Text()
	pulse.Wanted = r.Text()
	pulse.Flags = int(r.Number())
	return pulse, r.err
}

// Workers returns the ids that are registered and those that are being taken apart.
func (s *Store) Workers(ctx context.Context) (registered, dead []string, err error) {
	replies, err := s.driver.Pipeline(ctx,
		Call{Command: "SMEMBERS", Args: []any{s.keys.workers}}, Call{Command: "SMEMBERS", Args: []any{s.keys.dead}})
	if err != nil {
		return nil, nil, err
	}
	for _, reply := range replies {
		if reply.Err != nil {
			return nil, nil, reply.Err
		}
	}
	r := &Reader{script: "SMEMBERS"}
	return texts(r, replies[0].Value), texts(r, replies[1].Value), r.err
}

// Registered returns the ids that are registered.
func (s *Store) Registered(ctx context.Context) ([]string, error) {
	value, err := Do(ctx, s.driver, Call{Command: "SMEMBERS", Args: []any{s.keys.workers}})
	if err != nil {
		return nil, err
	}
	r := &Reader{script: "SMEMBERS", whole: value}
	ids := texts(r, value)
	return ids, r.err
}

// Alive tells which of the workers have a heartbeat, all in one look.
func (s *Store) Alive(ctx context.Context, ids []string) (map[string]bool, error) {
	alive := make(map[string]bool, len(ids))
	if len(ids) == 0 {
		return alive, nil
	}
	hearts := Call{Command: "MGET", Args: make([]any, 0, len(ids))}
	for _, id := range ids {
		hearts.Args = append(hearts.Args, s.keys.prefix+"worker:"+id)
	}
	value, err := Do(ctx, s.driver, hearts)
	if err != nil {
		return nil, err
	}
	r := Read("MGET", value)
	for _, id := range ids {
		alive[id] = r.Next() != nil
	}
	return alive, r.err
}

// Condemn takes a worker without heartbeat out of the registered ones, if this worker was steady for that long itself.
// It returns true when the target is dead, now or before.
func (w *Worker) Condemn(ctx context.Context, target string, steady time.Duration) (bool, error) {
	k := w.store.keys
	value, err := Do(ctx, w.store.driver, Call{
		Script: condemnScript,
		Keys:   []string{k.prefix + "worker:" + target, w.keys.heart, k.workers, k.dead},
		Args:   []any{target, millis(steady)},
	})
	if err != nil {
		return false, err
	}
	verdict, _ := value.([]byte)
	return string(verdict) == "dead", nil
}

// Queues returns the names that the worker serves, as Redis knows them.
func (w *Worker) Queues(ctx context.Context) ([]string, error) {
	value, err := Do(ctx, w.store.driver, Call{Command: "SMEMBERS", Args: []any{w.keys.queues}})
	if err != nil {
		return nil, err
	}
	r := &Reader{script: "SMEMBERS", whole: value}
	names := texts(r, value)
	return names, r.err
}

// InProcess returns the newest [MaxBatch] elements of the worker's list of one queue, oldest of them first. Lists are
// emptied from their newest part, so that the oldest jobs come to stand at the very front of the queue.
func (w *Worker) InProcess(ctx context.Context, queue string) ([]string, error) {
	value, err := Do(ctx, w.store.driver, Call{
		Command: "LRANGE", Args: []any{w.keys.inprocess(queue), 0, MaxBatch - 1},
	})
	if err != nil {
		return nil, err
	}
	r := &Reader{script: "LRANGE", whole: value}
	elements := texts(r, value)
	for i, j := 0, len(elements)-1; i < j; i, j = i+1, j-1 {
		elements[i], elements[j] = elements[j], elements[i]
	}
	return elements, r.err
}

// Forget removes the worker if it holds nothing. It answers the queues that it still holds jobs of, and true once it
// is gone; false without queues means that the names given are not those that Redis knows.
func (w *Worker) Forget(ctx context.Context, queues []string) (holding []string, gone bool, err error) {
	k := w.store.keys
	keys := []string{k.workers, k.dead, w.keys.heart, w.keys.queues, w.keys.info, w.keys.running, k.lease}
	args := []any{w.ID}
	for _, queue := range queues {
		keys = append(keys, w.keys.inprocess(queue))
		args = append(args, queue)
	}
	value, err := Do(ctx, w.store.driver, Call{Script: forgetScript, Keys: keys, Args: args})
	if err != nil {
		return nil, false, err
	}
	r := Read("forget", value)
	state := r.Text()
	return r.Texts(), state == "gone", r.err
}
