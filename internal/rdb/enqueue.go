package rdb

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

var enqueueScript = load("enqueue")

// Place is where a new job goes.
type Place string

// The places of a new job.
const (
	Back  Place = "back"  // of its queue
	Front Place = "front" // of its queue
	In    Place = "in"    // scheduled, after so many ms
	At    Place = "at"    // scheduled, for a time in ms
)

// NewJob is one job of an enqueue.
type NewJob struct {
	Queue  string
	ID     string
	Chosen bool // the caller chose the id, so one that lives already is a duplicate
	Place  Place
	When   int64 // ms, with In and At
	Record []byte

	Replicas int           // how many replicas should have it before Enqueue returns; 0 waits for none
	Wait     time.Duration // how long that may take
}

// Problem says why one job of an enqueue was not stored.
type Problem string

// The problems that one job may have while the others of its call are stored.
const (
	Duplicate Problem = "duplicate" // a job of that id lives
	BadKey    Problem = "badkey"    // the key of its queue holds something that is no list
)

// Enqueued is the answer to an enqueue.
type Enqueued struct {
	Time     time.Time       // Redis' clock when the call was executed first
	Problems map[int]Problem // by index; those not named were stored

	Confirmed int // how many replicas have it, where a job wanted some
}

// Enqueue stores up to [MaxBatch] jobs in one call. A call is (lane, number): numbers of a lane grow, one call of a
// lane is outstanding at a time, and a call sent again with its number gets the answer of the first time.
func (s *Store) Enqueue(ctx context.Context, lane string, number int64, jobs []NewJob) (Enqueued, error) {
	call, order := s.enqueueCall(lane, number, jobs)
	calls := appendWait([]Call{call}, jobs)
	replies, err := s.driver.Pipeline(ctx, calls...)
	if err == nil {
		err = replies[0].Err
	}
	if err != nil {
		return Enqueued{}, err
	}
	value := replies[0].Value
	var line string
	switch v := value.(type) {
	case []byte:
		line = string(v)
	case string:
		line = v
	}
	answer, err := parseEnqueued(line, value, order)
	if len(replies) > 1 && err == nil {
		confirmed, _ := replies[1].Value.(int64) // a server without WAIT confirms nothing
		answer.Confirmed = int(confirmed)
	}
	return answer, err
}

// appendWait adds a WAIT on the same connection, for as many replicas as any of the jobs wants. After a repeated call it
// waits for at least what the first one wrote, since Redis takes the offset of the last command of the connection.
func appendWait(calls []Call, jobs []NewJob) []Call {
	replicas, wait := 0, time.Duration(0)
	for i := range jobs {
		replicas, wait = max(replicas, jobs[i].Replicas), max(wait, jobs[i].Wait)
	}
	if replicas == 0 {
		return calls
	}
	return append(calls, Call{Command: "WAIT", Args: []any{replicas, millis(wait)}, Block: wait})
}

// group is a run of jobs of one queue that one LPUSH stores.
type group struct {
	queue int
	place Place
	when  int64
	jobs  []int // indices
	alone bool
}

// enqueueCall groups the jobs, so that plain ones of a queue cost one push together. It also returns which job is the
// n-th that the script sees.
func (s *Store) enqueueCall(lane string, number int64, jobs []NewJob) (Call, []int) {
	indices := map[string]int{}
	var names []string
	var groups []*group
	open := map[string]*group{} // the last group of each queue, while plain jobs may join it
	for i := range jobs {
		job := &jobs[i]
		queue, known := indices[job.Queue]
		if !known {
			names = append(names, job.Queue)
			queue = len(names)
			indices[job.Queue] = queue
		}
		alone := job.Chosen || job.Place == In || job.Place == At
		if last := open[job.Queue]; last != nil && !alone && !last.alone && last.place == job.Place {
			last.jobs = append(last.jobs, i)
			continue
		}
		g := &group{queue: queue, place: job.Place, when: job.When, jobs: []int{i}, alone: alone}
		groups = append(groups, g)
		open[job.Queue] = g
	}
	keys, args := s.enqueueHead(lane, number, names)
	args, order := appendGroups(args, groups, jobs)
	return Call{Script: enqueueScript, Keys: keys, Args: args}, order
}

func (s *Store) enqueueHead(lane string, number int64, names []string) ([]string, []any) {
	k := s.keys
	keys := make([]string, 0, 7+2*len(names))
	keys = append(keys, k.lanes, k.jobs, k.queues, k.ready, k.scheduled, k.names, k.control)
	args := []any{lane, number, len(names)}
	for _, name := range names {
		of := k.queue(name)
		keys = append(keys, of.queue, of.wake)
		args = append(args, name)
	}
	return keys, args
}

// appendGroups writes the groups, and returns which job is the n-th that the script sees.
func appendGroups(head []any, groups []*group, jobs []NewJob) (args []any, order []int) {
	args = slices.Grow(head, 5*len(groups)+2*len(jobs))
	order = make([]int, 0, len(jobs))
	for _, g := range groups {
		args = append(args, g.queue, string(g.place), g.when, jobs[g.jobs[0]].Chosen, len(g.jobs))
		for _, i := range g.jobs {
			args = append(args, jobs[i].ID, jobs[i].Record)
			order = append(order, i)
		}
	}
	return args, order
}

// parseEnqueued reads "1732100000000 3=duplicate".
func parseEnqueued(line string, whole any, order []int) (Enqueued, error) {
	stamp, rest, _ := strings.Cut(line, " ")
	ms, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return Enqueued{}, &UnexpectedReplyError{Script: "enqueue", Reply: whole}
	}
	answer := Enqueued{Time: fromMillis(ms)}
	for _, field := range strings.Fields(rest) {
		at, why, _ := strings.Cut(field, "=")
		n, err := strconv.Atoi(at)
		if err != nil || n < 1 || n > len(order) {
			return Enqueued{}, &UnexpectedReplyError{Script: "enqueue", Reply: whole}
		}
		if answer.Problems == nil {
			answer.Problems = map[int]Problem{}
		}
		answer.Problems[order[n-1]] = Problem(why)
	}
	return answer, nil
}
