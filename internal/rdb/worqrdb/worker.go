package worqrdb

import (
	"context"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	registerScript    = redisconn.Load("worqr/register")
	beatScript        = redisconn.Load("worqr/beat")
	serveScript       = redisconn.Load("worqr/serve")
	leaveScript       = redisconn.Load("worqr/leave")
	declareDeadScript = redisconn.Load("worqr/declare_dead")
	forgetScript      = redisconn.Load("worqr/forget")
)

// What the scripts of workers answer.
const (
	Registered = "registered"
	IDTaken    = "taken" // another worker has the id
	Dead       = "dead"  // the timer has lapsed or was taken away, and what is left of the id has to be failed first
	Alive      = "alive"
	Unknown    = "unknown"
	Forgotten  = "forgotten"
)

// Register makes a worker known. It answers Registered, IDTaken or Dead.
func (s *Store) Register(ctx context.Context, w Worker) (string, error) {
	return word(registerScript)(s.do(ctx, registerScript, []string{
		s.timer(w.ID), s.leasedWorkers(), s.registrations(), s.workers(), s.permanentWorkers(),
	}, w.ID, w.Registration, w.Life.Milliseconds()))
}

// Beat renews the timer of a worker over a connection of its own. It answers false when the worker has lapsed.
func (s *Store) Beat(ctx context.Context, conn redisconn.Conn, w Worker) (alive bool, err error) {
	said, err := word(beatScript)(redisconn.Do(ctx, conn, redisconn.Call{
		Script: beatScript, Keys: []string{s.timer(w.ID), s.leasedWorkers(), s.registrations(), s.workers()},
		Args: []any{w.ID, w.Registration, w.Life.Milliseconds()},
	}))
	return said == Alive, err
}

// Serve notes that a worker serves a queue, and answers how many tasks wait in it. lapsed says that the worker is none.
func (s *Store) Serve(ctx context.Context, w Worker, queue string) (waiting int, lapsed bool, err error) {
	reply, err := s.do(ctx, serveScript, []string{
		s.timer(w.ID), s.leasedWorkers(), s.registrations(), s.workingQueues(w.ID), s.knownQueues(), s.queue(queue),
		s.servedQueues(w.ID), s.workers(),
	}, w.ID, queue, w.Registration, w.Life.Milliseconds())
	if err != nil {
		return 0, false, err
	}
	r := redisconn.Read(serveScript.Name, reply)
	if r.Text() == Lapsed {
		return 0, true, r.Err()
	}
	n := r.Number()
	return int(n), false, r.Err()
}

// Leave notes that a worker serves a queue no longer. It answers false while the worker holds tasks of it.
func (s *Store) Leave(ctx context.Context, worker, queue string) (bool, error) {
	n, err := number(leaveScript)(s.do(ctx, leaveScript, []string{
		s.workingQueues(worker), s.workingProcesses(worker, queue), s.startedProcesses(worker, queue),
		s.servedQueues(worker),
	}, queue))
	return n == 1, err
}

// DeclareDead makes a worker count as dead, one that is alive only by force. It answers Dead, Alive or Unknown.
func (s *Store) DeclareDead(ctx context.Context, worker string, force bool) (string, error) {
	return word(declareDeadScript)(s.do(ctx, declareDeadScript, []string{
		s.timer(worker), s.leasedWorkers(), s.registrations(), s.workers(),
	}, worker, force))
}

// Forget removes a dead worker that serves these queues and holds nothing. It answers Forgotten, Alive, or another word
// if it has to be looked at again.
func (s *Store) Forget(ctx context.Context, worker string, queues []string) (string, error) {
	keys := []string{
		s.timer(worker), s.leasedWorkers(), s.registrations(), s.workers(), s.permanentWorkers(),
		s.workingQueues(worker), s.voidedProcesses(worker), s.servedQueues(worker),
	}
	args := []any{worker}
	for _, queue := range queues {
		keys = append(keys, s.workingProcesses(worker, queue), s.startedProcesses(worker, queue))
		args = append(args, queue)
	}
	return word(forgetScript)(s.do(ctx, forgetScript, keys, args...))
}
