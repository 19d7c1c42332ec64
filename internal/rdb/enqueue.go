package rdb

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/redisconn"
)

var (
	enqueueScript      = redisconn.Load("job/enqueue")
	enqueueMixedScript = redisconn.Load("job/enqueue_mixed")
)

// Place is where a new job goes.
type Place string

// The places of a new job.
const (
	Back  Place = "back"  // of its queue
	Front Place = "front" // of its queue
	In    Place = "in"    // scheduled, after so many ms
	At    Place = "at"    // scheduled, for a time in ms
)

// arg is the place as an argument, without an allocation.
func (p Place) arg() any {
	if p == Front {
		return string(Front)
	}
	return string(Back)
}

// NewJob is one job of an enqueue.
type NewJob struct {
	Queue  string // its name, with what it needs: see package needs
	ID     string
	Chosen bool // the caller chose the id, so one that lives already is a duplicate
	Place  Place
	When   int64 // ms, with In and At
	Record []byte

	Lock    Lock     // that the job should have; the zero value is none
	Objects []string // SHA-256 in hex of the objects that its record refers to
	Turn    Turn     // the zero value where it has no key
	Own     string   // its name, where it waits in a queue that this shares with others

	// It is bound, and a resize is on: it is listed for whoever moves what is bound.
	Tracked bool
}

// Lock makes a job unique: while it is held no other job with the same digest is stored.
type Lock struct {
	Digest string
	Kind   LockKind
	Life   time.Duration // after which it is void in any case; 0 is never
}

// LockKind says when a lock is freed.
type LockKind string

// The kinds of locks.
const (
	UntilEnded LockKind = "f" // when its job has ended, or is buried
	UntilGone  LockKind = "m" // when its job has ended, and is not in the morgue
	UntilBegun LockKind = "s" // before its job's handler begins
	ForATime   LockKind = "t" // when its time is over, or its job was cancelled or deleted
)

// extended tells whether the script must know more of the job than its record.
func (j *NewJob) extended() bool {
	return j.Chosen || j.Lock.Digest != "" || len(j.Objects) > 0 || j.Tracked
}

// special tells whether the job needs more than a push into its queue: where workers may not know that, they are told.
func (j *NewJob) special() bool { return j.extended() || j.timed() || needs.Some(j.Queue) }

// Name is the name of the job, whatever it needs, and wherever it waits.
func (j *NewJob) Name() string { return cmp.Or(j.Own, needs.Name(j.Queue)) }

// keyed tells whether the job waits by turns of its key.
func (j *NewJob) keyed() bool { return j.Turn.Key != "" }

// timed tells whether the job may be due later.
func (j *NewJob) timed() bool { return j.Place == In || j.Place == At }

// joins tells whether the job can be in one group behind another one of its queue. Those that are due later stand in
// the order of their ids there, as Redis sorts those of one time: the script looks at the first only.
func (j *NewJob) joins(other *NewJob) bool {
	return j.Place == other.Place && j.keyed() == other.keyed() && !j.extended() && !other.extended() &&
		(!j.timed() || other.ID < j.ID)
}

// ascend tells whether the ids of those jobs that may be due later ascend.
func ascend(jobs []NewJob) bool {
	last := ""
	for i := range jobs {
		if job := &jobs[i]; job.timed() {
			if job.ID <= last {
				return false
			}
			last = job.ID
		}
	}
	return true
}

// Problem says why one job of an enqueue was not stored.
type Problem string

// The problems that one job may have while the others of its call are stored.
const (
	Duplicate Problem = "duplicate" // a job of that id lives
	BadKey    Problem = "badkey"    // the key of its queue holds something that is no list
	Unique    Problem = "unique"    // another job has its lock
	NoObject  Problem = "noobject"  // an object that it refers to is not there
	Crowded   Problem = "crowded"   // it has a key, and MaxTurning other queues have jobs with keys already
)

// Enqueued is the answer to an enqueue.
type Enqueued struct {
	Time     time.Time       // Redis' clock when the call was executed first
	Problems map[int]Problem // by index; those not named were stored
	Owners   map[int]string  // by index: the id of the job that has the lock
	Missing  map[int]string  // by index: the object that is not there

	Rewound Rewind // what of the lane this Redis has forgotten
}

// Enqueue is [Store.EnqueueIn] of a call of which nobody knows what came before it.
func (s *Store) Enqueue(ctx context.Context, lane string, number int64, jobs []NewJob) (Enqueued, error) {
	return s.EnqueueIn(ctx, LaneCall{Lane: lane, Number: number}, jobs)
}

// EnqueueIn stores up to [MaxBatch] jobs in one call. A call is (lane, number): numbers of a lane grow, one call of a
// lane is outstanding at a time, and a call sent again with its number gets the answer of the first time. A call by an
// older map of the partitions than is known there is refused with a *[RouteError], unless it was executed before.
func (s *Store) EnqueueIn(ctx context.Context, in LaneCall, jobs []NewJob) (Enqueued, error) {
	if !plain(jobs) {
		if several(jobs) {
			return s.enqueueSeveral(ctx, in, jobs)
		}
		return s.enqueueMixed(ctx, in, jobs)
	}
	kept := plainCalls.Get().(*plainCall)
	kept.fill(s.keys, in, jobs)
	replies, err := s.driver.Pipeline(ctx, kept.calls[:]...)
	if err == nil && replies[0].Err == nil { // else a client that gave up may still be sending it
		kept.putBack()
	}
	return readEnqueued(enqueueScript.Name, replies, err, asTheyCome[:len(jobs):len(jobs)])
}

func (s *Store) enqueueSeveral(ctx context.Context, in LaneCall, jobs []NewJob) (Enqueued, error) {
	kept := severalCalls.Get().(*severalCall)
	kept.fill(s.keys, in, jobs)
	replies, err := s.driver.Pipeline(ctx, kept.calls[:]...)
	if err != nil || replies[0].Err != nil { // a client that gave up may still be sending it
		return readEnqueued(enqueueSeveralScript.Name, replies, err, nil)
	}
	defer kept.putBack()
	return readEnqueued(enqueueSeveralScript.Name, replies, nil, kept.order)
}

func (s *Store) enqueueMixed(ctx context.Context, in LaneCall, jobs []NewJob) (Enqueued, error) {
	call, order := s.enqueueMixedCall(in, jobs)
	replies, err := s.driver.Pipeline(ctx, call)
	return readEnqueued(call.Script.Name, replies, err, order)
}

// readEnqueued reads the answer to an enqueue. order says which of its jobs is the n-th that the script sees.
func readEnqueued(script string, replies []redisconn.Reply, err error, order []int) (Enqueued, error) {
	if err == nil {
		err = replies[0].Err
	}
	if err != nil {
		return Enqueued{}, routed(err)
	}
	var line []byte
	switch v := replies[0].Value.(type) {
	case []byte:
		line = v
	case string:
		line = []byte(v)
	}
	return parseEnqueued(script, line, replies[0].Value, order)
}

// plainCall is a call of enqueue.lua with the room for what belongs to it, which is used again.
type plainCall struct {
	calls   [1]redisconn.Call
	lane    string
	numbers []byte
	args    []any // pointers, as nothing else becomes an interface value without an allocation
}

var plainCalls = sync.Pool{New: func() any { return &plainCall{} }}

func (c *plainCall) fill(k *keys, in LaneCall, jobs []NewJob) {
	queue := k.queue(jobs[0].Queue)
	c.lane, c.numbers = in.Lane, in.appendNumbers(c.numbers[:0])
	c.args = append(slices.Grow(c.args[:0], 4+2*len(jobs)), &c.lane, &c.numbers, &jobs[0].Queue, jobs[0].Place.arg())
	for i := range jobs {
		c.args = append(c.args, &jobs[i].ID, &jobs[i].Record)
	}
	c.calls[0] = redisconn.Call{Script: enqueueScript, Keys: queue.plain, Args: c.args}
}

// putBack lets another call have the room. It forgets the jobs.
func (c *plainCall) putBack() {
	clear(c.args)
	c.calls[0] = redisconn.Call{}
	plainCalls.Put(c)
}

// plain tells whether the jobs are what enqueue.lua is made for.
func plain(jobs []NewJob) bool {
	for i := range jobs {
		if job := &jobs[i]; job.special() || job.keyed() || job.Queue != jobs[0].Queue || job.Place != jobs[0].Place {
			return false
		}
	}
	return len(jobs) > 0
}

// asTheyCome is the order of jobs that are not grouped.
var asTheyCome = func() (order [MaxBatch]int) {
	for i := range order {
		order[i] = i
	}
	return order
}()

// group are jobs of one queue that go to one place.
type group struct {
	queue int
	jobs  []int // indices
}

// enqueueMixedCall makes the call of jobs of all kinds.
func (s *Store) enqueueMixedCall(in LaneCall, jobs []NewJob) (redisconn.Call, []int) {
	names, groups := grouped(jobs)
	w := s.groupWriter(names, len(groups), len(jobs))
	w.special = slices.ContainsFunc(groups, func(g group) bool { return jobs[g.jobs[0]].special() })
	if w.special {
		w.addSpecialKeys()
	}
	for i := range groups {
		w.write(&groups[i], jobs)
	}
	kind := kinds(w.special, jobs)
	if strings.HasSuffix(kind, tracked) {
		w.keys = append(w.keys, s.keys.tracked)
	}
	if w.special && in.Map > 0 {
		w.keys = append(w.keys, s.keys.foreign)
	}
	if slices.ContainsFunc(jobs, func(job NewJob) bool { return job.keyed() }) {
		kind += keyed
		w.keys = append(w.keys, s.keys.turns, s.keys.passes, s.keys.turning, s.keys.keyed)
	}
	w.args[0], w.args[1], w.args[2], w.args[3] = in.Lane, in.numbers(), len(names), kind
	return redisconn.Call{Script: enqueueMixedScript, Keys: w.keys, Args: w.args}, w.order
}

// kinds tells the script what there is among the jobs of a call: 0 for nothing but records, 2 where it need not sort,
// else 1; with a + where some are tracked.
func kinds(special bool, jobs []NewJob) string {
	kind := "1"
	switch {
	case !special:
		return "0"
	case ascend(jobs):
		kind = "2"
	}
	if slices.ContainsFunc(jobs, func(job NewJob) bool { return job.Tracked }) {
		kind += tracked
	}
	return kind
}

// What stands behind what is said of jobs: of those that are tracked, and of those that have keys.
const (
	tracked = "+"
	keyed   = "*"
)

// grouped groups the jobs, so that those of a queue which go to one place are described together, and names their
// queues.
func grouped(jobs []NewJob) (names []string, groups []group) {
	if len(jobs) == 1 { // needs no maps
		return []string{jobs[0].Queue}, []group{{queue: 1, jobs: []int{0}}}
	}
	indices := map[string]int{} // from 1 on
	open := map[string]int{}    // index + 1 of the last group of each queue
	for i := range jobs {
		job := &jobs[i]
		queue, known := indices[job.Queue]
		if !known {
			names = append(names, job.Queue)
			queue = len(names)
			indices[job.Queue] = queue
		}
		if at := open[job.Queue]; at > 0 {
			if g := &groups[at-1]; job.joins(&jobs[g.jobs[len(g.jobs)-1]]) {
				g.jobs = append(g.jobs, i)
				continue
			}
		}
		groups = append(groups, group{queue: queue, jobs: []int{i}})
		open[job.Queue] = len(groups)
	}
	return names, groups
}

func (s *Store) groupWriter(names []string, groups, jobs int) *groupWriter {
	k := s.keys
	keys := make([]string, 0, 5+4*len(names))
	keys = append(keys, k.lanes, k.jobs, k.queues, k.ready, k.limits)
	args := make([]any, 4, 4+len(names)+4*groups+2*jobs)
	for _, name := range names {
		keys = k.queue(name).appendTo(keys)
		args = append(args, name)
	}
	return &groupWriter{store: s, keys: keys, args: args, order: make([]int, 0, jobs)}
}

func (w *groupWriter) addSpecialKeys() {
	k := w.store.keys
	w.keys = append(w.keys, k.scheduled, k.names, k.control, k.unique, k.objects, k.outcomes, k.outcomesUntil)
	w.before = len(w.keys)
}

// groupWriter writes groups as the script reads them.
type groupWriter struct {
	store   *Store
	keys    []string
	before  int // how many keys there are before those of objects
	args    []any
	order   []int // which job is the n-th that the script sees
	special bool  // some have more than a record
}

// write appends what job/enqueue_mixed documents of one group. A job with more than a record is a group of its own.
// Where all are due at the same time that is said once, else of each behind the records.
func (w *groupWriter) write(g *group, jobs []NewJob) {
	first := &jobs[g.jobs[0]]
	place := string(first.Place)
	if first.keyed() {
		place += keyed
	}
	if first.extended() {
		place += "+"
	}
	at := len(w.args) + 2
	w.args = append(w.args, g.queue, place, first.When, len(g.jobs))
	same := true
	for _, i := range g.jobs {
		w.args = append(w.args, jobs[i].ID, jobs[i].Record)
		w.order = append(w.order, i)
		same = same && jobs[i].When == first.When
	}
	if first.timed() && !same {
		w.args[at] = ""
		for _, i := range g.jobs {
			w.args = append(w.args, jobs[i].When)
		}
	}
	for _, i := range g.jobs {
		if jobs[i].keyed() {
			w.args = append(w.args, jobs[i].Turn.Key, jobs[i].Turn.weight())
		}
	}
	if !first.extended() {
		return
	}
	chosen := "0"
	if first.Chosen {
		chosen = "1"
	}
	if first.Tracked {
		chosen += tracked
	}
	w.args = append(w.args, chosen, first.Lock.Digest, string(first.Lock.Kind), millis(first.Lock.Life),
		len(first.Objects))
	for _, sha := range first.Objects {
		w.args = append(w.args, w.object(sha), sha)
	}
}

// object returns which of the keys of objects belongs to that one.
func (w *groupWriter) object(sha string) int {
	key := w.store.keys.object(sha).jobs
	at := slices.Index(w.keys[w.before:], key)
	if at < 0 {
		at = len(w.keys) - w.before
		w.keys = append(w.keys, key)
	}
	return at + 1
}

// parseEnqueued reads "1732100000000 0=rewound:5-8 3=duplicate 5=unique:6a31".
func parseEnqueued(script string, line []byte, whole any, order []int) (Enqueued, error) {
	stamp, rest, _ := bytes.Cut(line, []byte(" "))
	ms, err := strconv.ParseInt(string(stamp), 10, 64)
	if err != nil {
		return Enqueued{}, &redisconn.UnexpectedReplyError{Script: script, Reply: whole}
	}
	answer := Enqueued{Time: fromMillis(ms)}
	for _, field := range strings.Fields(string(rest)) {
		at, why, _ := strings.Cut(field, "=")
		if rewound, is := strings.CutPrefix(field, rewoundMark); is {
			if answer.Rewound, err = parseRewind(rewound); err != nil {
				return Enqueued{}, &redisconn.UnexpectedReplyError{Script: script, Reply: whole}
			}
			continue
		}
		n, err := strconv.Atoi(at)
		if err != nil || n < 1 || n > len(order) {
			return Enqueued{}, &redisconn.UnexpectedReplyError{Script: script, Reply: whole}
		}
		answer.note(order[n-1], why)
	}
	return answer, nil
}

// note books why a job was not stored: "unique:6a31", "duplicate".
func (e *Enqueued) note(job int, why string) {
	problem, what, _ := strings.Cut(why, ":")
	if e.Problems == nil {
		e.Problems, e.Owners, e.Missing = map[int]Problem{}, map[int]string{}, map[int]string{}
	}
	e.Problems[job] = Problem(problem)
	switch Problem(problem) {
	case Unique:
		owner, _ := hex.DecodeString(what) // written by the script
		e.Owners[job] = string(owner)
	case NoObject:
		e.Missing[job] = what
	}
}
