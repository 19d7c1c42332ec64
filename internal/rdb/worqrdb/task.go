package worqrdb

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	startScript        = redisconn.Load("worqr/start")
	finishScript       = redisconn.Load("worqr/finish")
	requeueScript      = redisconn.Load("worqr/requeue")
	endCancelledScript = redisconn.Load("worqr/end_cancelled")
)

// What Start answers.
const (
	Started = "started"
	Empty   = "empty"  // no task waits
	Idle    = "idle"   // the worker does not serve the queue
	Lapsed  = "lapsed" // the worker is not registered, or its timer has lapsed
	Void    = "void"   // the process was given up before
)

// Taken is the answer to Start.
type Taken struct {
	State    string
	Task     []byte
	Sequence int64 // grows with each task that anybody starts
}

// Start takes the task at the front of a queue. Sent again it answers with the same one.
func (s *Store) Start(ctx context.Context, w Worker, queue, process string) (Taken, error) {
	reply, err := s.do(ctx, startScript, []string{
		s.queue(queue), s.process(process), s.workingQueues(w.ID), s.leasedWorkers(), s.registrations(), s.timer(w.ID),
		s.workingProcesses(w.ID, queue), s.startedProcesses(w.ID, queue), s.voidedProcesses(w.ID),
		s.uniqueWaiting(queue), s.sequence(), s.workers(),
	}, w.ID, queue, process, w.Registration)
	if err != nil {
		return Taken{}, err
	}
	r := redisconn.Read(startScript.Name, reply)
	t := Taken{State: r.Text()}
	if t.State == Started {
		t.Task, t.Sequence = r.Bytes(), r.Number()
	}
	return t, r.Err()
}

// Finish ends a process and publishes done. It answers false if the process is not the worker's.
func (s *Store) Finish(ctx context.Context, p Process, task, done []byte) (bool, error) {
	n, err := number(finishScript)(s.do(ctx, finishScript, []string{
		s.workingProcesses(p.Worker, p.Queue), s.process(p.ID), s.startedProcesses(p.Worker, p.Queue),
		s.uniqueTask(p.Queue, Digest(task)), s.Channels(p.Queue).Done,
	}, p.ID, done))
	return n == 1, err
}

// What EndCancelled answers.
const (
	Ended = "ended"
	Kept  = "kept"
	Gone  = "gone" // the process is not the worker's: it has ended, or was taken away
)

// EndCancelled ends a process if its task was cancelled after its start; unmarked: also if that is not known, and only
// somebody says so. A copy that the released program has put back meanwhile is removed. It answers Ended, Kept or Gone.
func (s *Store) EndCancelled(ctx context.Context, p Process, task []byte, unmarked bool) (string, error) {
	return word(endCancelledScript)(s.do(ctx, endCancelledScript, []string{
		s.workingProcesses(p.Worker, p.Queue), s.process(p.ID), s.startedProcesses(p.Worker, p.Queue),
		s.cancelledTasks(p.Queue), s.queue(p.Queue), s.uniqueWaiting(p.Queue),
	}, p.ID, Digest(task), unmarked, task, copiesReach))
}

// Requeue is what is put back to the front of one queue.
type Requeue struct {
	Worker, Queue string
	Processes     []string      // newest first, at most MaxBatch
	Dead          bool          // they are those of a worker that has to be dead
	Void          time.Duration // how long those that have not started may not start
}

// Requeued is the answer to it.
type Requeued struct {
	Alive           bool // the worker is not dead: nothing was moved
	Back, Cancelled int  // put back; ended because they were cancelled
}

// Requeue puts tasks back to the front of their queue.
func (s *Store) Requeue(ctx context.Context, g Requeue) (Requeued, error) {
	keys := []string{
		s.workingProcesses(g.Worker, g.Queue), s.startedProcesses(g.Worker, g.Queue), s.queue(g.Queue),
		s.uniqueWaiting(g.Queue), s.cancelledTasks(g.Queue), s.leasedWorkers(), s.timer(g.Worker),
		s.voidedProcesses(g.Worker), s.Channels(g.Queue).Work, s.knownQueues(),
	}
	mode := "own"
	if g.Dead {
		mode = "dead"
	}
	args := []any{g.Worker, mode, g.Void.Milliseconds(), g.Queue}
	for _, id := range g.Processes {
		keys = append(keys, s.process(id))
		args = append(args, id)
	}
	reply, err := s.do(ctx, requeueScript, keys, args...)
	if err != nil {
		return Requeued{}, err
	}
	r := redisconn.Read(requeueScript.Name, reply)
	if r.Text() == "alive" {
		return Requeued{Alive: true}, r.Err()
	}
	back, cancelled := r.Number(), r.Number()
	return Requeued{Back: int(back), Cancelled: int(cancelled)}, r.Err()
}
