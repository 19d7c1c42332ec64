package worqrdb

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

// Seen is what is known of a worker.
type Seen struct {
	ID        string
	Ours      bool // registered by this package, and not by the released program
	Permanent bool // without a timer
	Alive     bool // its timer stands, or it has none
}

// Workers are all that are registered, the released program's too, sorted by id.
func (s *Store) Workers(ctx context.Context) ([]Seen, error) {
	lists, err := s.lists(ctx,
		redisconn.Call{Command: "SMEMBERS", Args: []any{s.workers()}},
		redisconn.Call{Command: "HKEYS", Args: []any{s.registrations()}},
		redisconn.Call{Command: "SMEMBERS", Args: []any{s.leasedWorkers()}},
		redisconn.Call{Command: "SMEMBERS", Args: []any{s.permanentWorkers()}})
	if err != nil {
		return nil, err
	}
	slices.Sort(lists[0])
	running, err := s.Running(ctx, lists[0])
	if err != nil {
		return nil, err
	}
	seen := make([]Seen, len(lists[0]))
	for i, id := range lists[0] {
		ours := slices.Contains(lists[1], id)
		permanent := slices.Contains(lists[3], id)
		if ours {
			permanent = !slices.Contains(lists[2], id)
		}
		seen[i] = Seen{ID: id, Ours: ours, Permanent: permanent, Alive: permanent || running[i]}
	}
	return seen, nil
}

// Dead are the workers of ours that look dead: those whose timer is gone, and those that the released program has
// failed, which has taken them out of workers. DeclareDead has the last word.
func (s *Store) Dead(ctx context.Context) ([]string, error) {
	lists, err := s.lists(ctx,
		redisconn.Call{Command: "SMEMBERS", Args: []any{s.leasedWorkers()}},
		redisconn.Call{Command: "HKEYS", Args: []any{s.registrations()}},
		redisconn.Call{Command: "SMEMBERS", Args: []any{s.workers()}})
	if err != nil {
		return nil, err
	}
	leased, registered, workers := lists[0], lists[1], lists[2]
	running, err := s.Running(ctx, leased)
	if err != nil {
		return nil, err
	}
	dead := map[string]bool{}
	for _, id := range registered {
		dead[id] = true
	}
	for _, id := range workers {
		delete(dead, id)
	}
	for i, id := range leased {
		if !running[i] {
			dead[id] = true
		}
	}
	return slices.Sorted(maps.Keys(dead)), nil
}

// Running tells of each worker whether its timer stands.
func (s *Store) Running(ctx context.Context, workers []string) ([]bool, error) {
	timers := make([]string, len(workers))
	for i, id := range workers {
		timers[i] = s.timer(id)
	}
	return exist(ctx, s.driver, timers)
}

// exist tells of each key whether it is there.
func exist(ctx context.Context, over pipeliner, keys []string) ([]bool, error) {
	there := make([]bool, 0, len(keys))
	for some := range slices.Chunk(keys, maxPipeline) {
		calls := make([]redisconn.Call, len(some))
		for i, key := range some {
			calls[i] = redisconn.Call{Command: "EXISTS", Args: []any{key}}
		}
		replies, err := over.Pipeline(ctx, calls...)
		if err != nil {
			return nil, err
		}
		for i := range replies {
			if replies[i].Err != nil {
				return nil, replies[i].Err
			}
			there = append(there, replies[i].Value == int64(1))
		}
	}
	return there, nil
}

// pipeliner is a driver, or one of its connections.
type pipeliner interface {
	Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error)
}

// maxTasks is how many tasks one pipeline reads: they may be large.
const maxTasks = 16

// maxPipeline is how many calls one pipeline has at the most.
const maxPipeline = 64

// Serves are the queues that a worker serves. The released program removes the one set when it fails the worker.
func (s *Store) Serves(ctx context.Context, worker string) ([]string, error) {
	reply, err := redisconn.Do(ctx, s.driver,
		redisconn.Call{Command: "SUNION", Args: []any{s.workingQueues(worker), s.servedQueues(worker)}})
	if err != nil {
		return nil, err
	}
	return names(redisconn.Reply{Value: reply})
}

// Holding is a process of a worker.
type Holding struct {
	Process
	Sequence int64 // grows with each task that anybody starts
	Task     []byte
}

// Holdings are the processes of a worker on a queue, newest first, without their tasks.
func (s *Store) Holdings(ctx context.Context, worker, queue string) ([]Holding, error) {
	lists, err := s.lists(ctx,
		redisconn.Call{Command: "SMEMBERS", Args: []any{s.workingProcesses(worker, queue)}},
		redisconn.Call{Command: "HGETALL", Args: []any{s.startedProcesses(worker, queue)}})
	if err != nil {
		return nil, err
	}
	ids, pairs := lists[0], lists[1]
	numbers := map[string]int64{}
	for _, id := range ids {
		numbers[id] = 0 // so that one is found whose number is lost
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		first, _, _ := strings.Cut(pairs[i+1], " ")
		numbers[pairs[i]], _ = strconv.ParseInt(first, 10, 64) // as above
	}
	held := make([]Holding, 0, len(numbers))
	for id, number := range numbers {
		held = append(held, Holding{Process: Process{Worker: worker, Queue: queue, ID: id}, Sequence: number})
	}
	slices.SortFunc(held, func(a, b Holding) int {
		return cmp.Or(cmp.Compare(b.Sequence, a.Sequence), cmp.Compare(b.ID, a.ID))
	})
	return held, nil
}

// Others are processes of the released program on a queue, whose workers it does not note.
func (s *Store) Others(ctx context.Context, queue string) ([]Holding, error) {
	ids, err := s.members(ctx, s.prefix+":workingProcesses:"+queue)
	held := make([]Holding, len(ids))
	for i, id := range ids {
		held[i].Process = Process{Queue: queue, ID: id}
	}
	return held, err
}

// Missing are those of the processes that are gone. It asks over a connection of the caller's.
func (s *Store) Missing(ctx context.Context, conn redisconn.Conn, processes []string) (missing []string, err error) {
	keys := make([]string, len(processes))
	for i, id := range processes {
		keys[i] = s.process(id)
	}
	there, err := exist(ctx, conn, keys)
	if err != nil {
		return nil, err
	}
	for i, id := range processes {
		if !there[i] {
			missing = append(missing, id)
		}
	}
	return missing, nil
}

// WithTasks fills in the tasks of processes, and leaves out those that have ended meanwhile.
func (s *Store) WithTasks(ctx context.Context, held []Holding) ([]Holding, error) {
	var filled []Holding
	for some := range slices.Chunk(held, maxTasks) {
		calls := make([]redisconn.Call, len(some))
		for i := range some {
			calls[i] = redisconn.Call{Command: "LINDEX", Args: []any{s.process(some[i].ID), 0}}
		}
		replies, err := s.driver.Pipeline(ctx, calls...)
		if err != nil {
			return nil, err
		}
		for i, h := range some {
			if replies[i].Err != nil {
				return nil, replies[i].Err
			}
			if task, there := replies[i].Value.([]byte); there {
				h.Task = task
				filled = append(filled, h)
			}
		}
	}
	return filled, nil
}

// lists are the answers of calls that each list something, in one round trip.
func (s *Store) lists(ctx context.Context, calls ...redisconn.Call) ([][]string, error) {
	replies, err := s.driver.Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	lists := make([][]string, len(replies))
	for i := range replies {
		if lists[i], err = names(replies[i]); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

func names(reply redisconn.Reply) ([]string, error) {
	if reply.Err != nil {
		return nil, reply.Err
	}
	r := redisconn.Read("SMEMBERS", []any{reply.Value})
	list := r.Texts()
	return list, r.Err()
}
