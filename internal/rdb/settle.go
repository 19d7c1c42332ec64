package rdb

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	completeScript     = redisconn.Load("job/complete")
	endScript          = redisconn.Load("job/end")
	shelveScript       = redisconn.Load("job/shelve")
	releaseScript      = redisconn.Load("job/release")
	markSuspectScript  = redisconn.Load("job/mark_suspect")
	declareAliveScript = redisconn.Load("worker/declare_alive")
)

// Ended is a claim whose job is over: done or discarded.
type Ended struct {
	Claim
	ID      string
	Keep    time.Duration // for how long the outcome is kept; 0 keeps none
	Outcome []byte
	State   string // how it ended, as in an [Ending]; needed with Details and Flow
	Details []byte // that are kept with the outcome, which names the queue then; nil for none
	Keyed   bool   // it has a key
	Flow    Membership
	Name    string // of the job, where that is not the name of its queue; may be empty
}

// Shelved is a claim whose job is put on a shelf.
type Shelved struct {
	Claim
	Shelf Shelf
	Delay time.Duration // until it is due; at least 1 ms for retry and scheduled
	Trail []byte        // nil leaves the one that is there

	Into        string // the queue where it waits when it is due; "" is that of the claim
	KeepCrashes bool   // it was put off without an attempt
	Keyed       bool   // it has a key
	Completion  string // the completion queue that learns of a burial; may be empty
	Lock        string // digest of the lock that the job loses, if it has it; may be empty
	Flow        Membership

	Wait Wait // of one that goes to scheduled: what it waits for; the zero value is nothing, and Delay counts
}

// Released is what is given back to the front of one queue.
type Released struct {
	Queue    string
	Elements []string // oldest first, at most MaxBatch
	Died     string   // the worker that died with them, if one did
	Ended    bool     // their attempts ended in good order, so their crashes are forgotten
	Older    []Older  // what was given back before, oldest first, at most MaxOlder: see OlderInFront
}

// Older is a job that was given back before others which are newer.
type Older struct {
	ID     string
	Before int // which of the elements it belongs before, the first is 1
}

// Complete makes the call that ends up to [MaxBatch] jobs, each only if its claim stands. Those that have more than a
// record and a trail end by [Worker.End].
func (w *Worker) Complete(ended []Ended) redisconn.Call {
	k := w.store.keys
	keys := append(make([]string, 0, 10+16), k.claimed, k.jobs, k.trail, k.crashes, k.outcomes, k.outcomesUntil,
		k.limits, k.cancelled, k.waited, k.done)
	groups := groupEnded(ended)
	args := append(make([]any, 0, 1+3*len(groups)+len(ended)), len(groups))
	place := make([]int, len(ended)) // of each job in the call, the first is 1
	last, n := "", 0
	for _, g := range groups {
		if queue := ended[g.jobs[0]].Queue; queue != last || n == 0 {
			keys = append(keys, w.keys.inprocess(queue), k.queue(queue).running)
			last = queue
		}
		args = append(args, (len(keys)-10)/2, g.number, len(g.jobs))
		for _, i := range g.jobs {
			args = append(args, ended[i].ID)
			n++
			place[i] = n
		}
	}
	for i := range ended {
		if ended[i].Keep > 0 {
			args = append(args, place[i], millis(ended[i].Keep), ended[i].Outcome)
		}
	}
	keys, args = k.appendDetails(keys, args, ended, place)
	if slices.ContainsFunc(ended, func(e Ended) bool { return e.Keyed }) {
		args[0] = strconv.Itoa(len(groups)) + "*"
		keys = k.lines(keys)
		for i, g := range groups {
			if queue := ended[g.jobs[0]].Queue; i == 0 || queue != ended[groups[i-1].jobs[0]].Queue {
				args = append(args, queue)
			}
		}
	}
	keys, args = k.appendFlows(keys, args, ended, place)
	return redisconn.Call{Script: completeScript, Keys: keys, Args: args}
}

// endedGroup is what has queue and number of the fetch in common.
type endedGroup struct {
	number string
	jobs   []int // indices
}

// groupEnded groups what ended, the groups of one queue one after the other.
func groupEnded(ended []Ended) []*endedGroup {
	type key struct{ queue, number string }
	known := make(map[key]*endedGroup, 8)
	var groups []*endedGroup
	var last key
	var open *endedGroup
	for i := range ended {
		number, _, _ := strings.Cut(ended[i].Element, ":")
		of := key{ended[i].Queue, number}
		if open == nil || of != last {
			if open = known[of]; open == nil {
				open = &endedGroup{number: number}
				known[of] = open
				groups = append(groups, open)
			}
			last = of
		}
		open.jobs = append(open.jobs, i)
	}
	slices.SortStableFunc(groups, func(a, b *endedGroup) int {
		return strings.Compare(ended[a.jobs[0]].Queue, ended[b.jobs[0]].Queue)
	})
	return groups
}

// Ending is how one job ends, with all that belongs to it.
type Ending struct {
	ID      string
	Queue   string
	State   string        // done, discarded, cancelled, deleted or expired
	Keep    time.Duration // for how long the outcome is kept; 0 keeps none
	Outcome []byte
	Details []byte // that are kept with the outcome, which names the queue then; nil for none
	Name    string // of the job, where that is not the name of its queue; may be empty
	Belongings
}

// End makes the call that ends one job of this worker, if its claim stands.
func (w *Worker) End(claim Claim, ending Ending) redisconn.Call {
	return w.store.end(endPlace{"claim", w.keys.inprocess(claim.Queue), claim.Element}, ending)
}

// endPlace is where a job stands that is to end.
type endPlace struct{ kind, key, member string }

// positionReach is how far from the ends of a queue a script looks for a job.
const positionReach = 10_000

// end lists all that may belong to the job, since the script must be given its keys. It may be sent again: the script
// acts only where the job stands at the place that is named.
func (s *Store) end(from endPlace, e Ending) redisconn.Call {
	k := s.keys
	keys := append(make([]string, 0, 28), k.claimed, k.jobs, k.trail, k.crashes, k.outcomes, k.outcomesUntil, k.limits,
		k.cancelled,
		k.waited, k.done, k.names, k.unique, from.key, k.queue(e.Queue).running)
	keys = k.lines(keys)
	args := append(make([]any, 0, 12), e.ID, from.kind, from.member, e.State, millis(e.Keep), e.Outcome, e.Lock,
		positionReach, e.Queue)
	add := func(key, kind string) { keys, args = append(keys, key), append(args, kind) }
	if from.kind == "queue" {
		add(k.ready, "ready "+e.Queue)
	}
	if e.Log {
		add(k.log(e.ID), "own")
	}
	if e.Belongings.State {
		add(k.state(e.ID), "own")
		add(k.steps(e.ID), "own")
		add(k.mail(e.ID), "own")
	}
	if e.Completion != "" {
		add(k.completion(e.Completion), "completion")
	}
	for _, sha := range e.Objects {
		add(k.object(sha).jobs, "object")
	}
	if e.Details != nil && e.Keep > 0 {
		ids, details := k.ended(e.State, cmp.Or(e.Name, e.Queue))
		add(ids, "ended")
		add(details, "details "+string(e.Details))
	}
	if of := &e.Flow; of.Flow != "" {
		keys = append(keys, k.flow(of.Flow)...)
		args = append(args, "flow "+of.Member+"\n"+string(of.Result))
		keys, args = k.withQueues(keys, args, of.Queues)
	}
	return redisconn.Call{Script: endScript, Keys: keys, Args: args}
}

// Shelve makes the call that puts one job on a shelf, if its claim stands.
func (w *Worker) Shelve(job Shelved) redisconn.Call {
	k := w.store.keys
	delay := int64(0)
	if job.Shelf != ShelfMorgue && job.Shelf != ShelfStalled {
		delay = max(1, millis(job.Delay))
	}
	keys := append(make([]string, 0, 23), k.claimed, k.crashes, k.names, k.trail, k.control,
		w.keys.inprocess(job.Queue),
		k.shelf(job.Shelf), k.cancelled, k.queue(job.Queue).running, k.waited, k.done, k.unique)
	keys = k.lines(keys)
	over := job.Shelf == ShelfMorgue
	if over && job.Completion != "" {
		keys = append(keys, k.completion(job.Completion))
	}
	if job.Wait.Digest != "" {
		delay = job.Wait.Until.UnixMilli()
	}
	if job.Wait.Message != "" {
		_, id, _ := strings.Cut(job.Element, ":")
		keys = append(keys, k.mail(id))
	}
	queue := job.Queue
	if job.Into != "" && job.Into != queue {
		queue += "\x00" + job.Into
		keys = append(keys, k.queues)
	}
	args := append(make([]any, 0, 11), job.Element, queue, delay, job.Trail, job.KeepCrashes,
		over, job.Lock, job.Keyed, job.Wait.words())
	if of := &job.Flow; over && of.Flow != "" {
		keys = append(keys, k.flow(of.Flow)...)
		keys, args = k.withQueues(keys, append(args, of.Member), of.Queues)
	}
	return redisconn.Call{Script: shelveScript, Keys: keys, Args: args}
}

// Release makes the call that gives claims of one queue back to the front of it.
func (w *Worker) Release(released Released) redisconn.Call {
	k := w.store.keys
	of := k.queue(released.Queue)
	args := append(make([]any, 0, 4+2*len(released.Older)+len(released.Elements)), released.Queue, released.Died,
		released.Ended, len(released.Older))
	for _, older := range released.Older {
		args = append(args, older.Before, older.ID)
	}
	for _, element := range released.Elements {
		args = append(args, element)
	}
	return redisconn.Call{
		Script: releaseScript,
		Keys: []string{k.claimed, k.crashes, k.ready, w.keys.inprocess(released.Queue), of.queue, of.wake, w.keys.info,
			of.running,
			k.deaths, k.workers, w.keys.taken, k.turns, k.turning, k.keyed, k.holding, k.passes},
		Args: args,
	}
}

// OlderInFront returns those of the older jobs that a call which releases others is to name. It asks which ones stand
// where the call would find them only if there are more than it may name: any may have been fetched since. It is asked
// when whatever put them there has been answered.
func (w *Worker) OlderInFront(ctx context.Context, queue string, older []Older) ([]Older, error) {
	if len(older) <= MaxOlder {
		return older, nil
	}
	value, err := redisconn.Do(ctx, w.store.driver,
		redisconn.Call{Command: "LRANGE", Args: []any{w.store.keys.queue(queue).queue, -MaxOlder, -1}})
	if err != nil {
		return nil, err
	}
	r := redisconn.Read("LRANGE", value)
	stands := make(map[string]bool, MaxOlder)
	for r.More() {
		stands[r.Text()] = true
	}
	there := make([]Older, 0, MaxOlder)
	for _, one := range older {
		if stands[one.ID] {
			there = append(there, one)
		}
	}
	return there, r.Err()
}

// Suspect notes that this worker is about to begin a job with which workers have died. It returns false when the claim
// is gone, so that the job must not begin.
func (w *Worker) Suspect(ctx context.Context, claim Claim) (bool, error) {
	value, err := redisconn.Do(ctx, w.store.driver, redisconn.Call{
		Script: markSuspectScript, Keys: []string{w.store.keys.crashes, w.keys.inprocess(claim.Queue)},
		Args: []any{w.ID, claim.Element},
	})
	if err != nil {
		return false, err
	}
	n, _ := value.(int64)
	return n == 1, nil
}

// DeclareAlive takes back that this worker died, of the jobs of those ids: it was only away. It returns how many
// crashes it took back. It may be repeated.
func (w *Worker) DeclareAlive(ctx context.Context, ids []string) (int, error) {
	k := w.store.keys
	for taken := 0; ; {
		n := min(len(ids), MaxBatch)
		args := append(make([]any, 0, 1+n), w.ID)
		for _, id := range ids[:n] {
			args = append(args, id)
		}
		value, err := redisconn.Do(ctx, w.store.driver,
			redisconn.Call{Script: declareAliveScript,
				Keys: []string{k.deaths, k.crashes, w.keys.info, k.stoppedInfo}, Args: args})
		if err != nil {
			return taken, err
		}
		some, _ := value.(int64)
		taken += int(some)
		if ids = ids[n:]; len(ids) == 0 {
			return taken, nil
		}
	}
}

// Settle sends calls made by Complete, End, Shelve and Release in one pipeline and returns for each the elements whose
// claim was gone, or the error with which Redis refused it. An error of its own means that some were not answered:
// all are sent again, and of a claim that is then gone [Worker.GoneClaims] tells whether the send before has counted.
// Calls whose script Redis did not know come after the others, so those of one pipeline are of different claims.
func (w *Worker) Settle(ctx context.Context, calls []redisconn.Call) ([]Settled, error) {
	_, settled, err := w.SettleBehind(ctx, nil, calls)
	return settled, err
}

// SettleBehind is Settle behind calls made by Log, in the same pipeline: Redis has executed those, or refused them,
// before it gets to the outcomes.
func (w *Worker) SettleBehind(ctx context.Context, logs, calls []redisconn.Call) ([]Logged, []Settled, error) {
	logged, settled, _, err := w.settle(ctx, logs, calls)
	return logged, settled, err
}

// SettleNoted is SettleBehind with a call made by NoteSettled behind it all, and what that one found.
func (w *Worker) SettleNoted(ctx context.Context, logs, calls []redisconn.Call, note redisconn.Call) ([]Logged,
	[]Settled, Noted, error) {
	logged, settled, replies, err := w.settle(ctx, logs, calls, note)
	if err != nil {
		return nil, nil, Noted{}, err
	}
	return logged, settled, parseNoted(replies[0]), nil
}

// settle sends logs, outcomes and what stands behind them in one pipeline.
func (w *Worker) settle(ctx context.Context, logs, calls []redisconn.Call, behind ...redisconn.Call) ([]Logged,
	[]Settled, []redisconn.Reply, error) {
	all := calls
	if len(logs) > 0 {
		// A script that Redis does not know would be sent again when the outcomes have counted.
		logs[0].InFull = true
	}
	if len(logs)+len(behind) > 0 {
		all = slices.Concat(logs, calls, behind)
	}
	replies, err := w.store.driver.Pipeline(ctx, all...)
	if err != nil {
		return nil, nil, nil, err
	}
	logged, settled := parseLogged(replies[:len(logs)]), make([]Settled, len(calls))
	for i := range settled {
		settled[i] = parseSettled(calls[i], replies[len(logs)+i])
	}
	return logged, settled, replies[len(logs)+len(calls):], nil
}

// Settled is the answer to one call of a settlement.
type Settled struct {
	Gone      []string // elements whose claim was gone
	Cancelled []string // elements of jobs that are to end as cancelled: nothing was done
	Waited    []string // elements of jobs whose outcome somebody waits for, and was not sent along: nothing was done
	Roomy     bool     // a queue may have room now that it had not before
	Flows     []FlowEnd
	Err       error // nothing of the call was done
}

// readRest reads what stands behind the lists in the answer to Complete: numbers of queues with room, and texts of
// flows that have ended.
func (s *Settled) readRest(r *redisconn.Reader) {
	for r.More() {
		text, is := r.Next().([]byte)
		if !is {
			s.Roomy = true
			continue
		}
		if end, err := parseFlowEnd(completeScript.Name, string(text)); err != nil {
			r.Fail()
		} else {
			s.Flows = append(s.Flows, end)
		}
	}
	s.Err = r.Err()
}

// parseSettled reads the reply to a call of Complete, Release, End or Shelve. Those about one job say only what became
// of it, so its element is taken from the call.
func parseSettled(call redisconn.Call, reply redisconn.Reply) Settled {
	if reply.Err != nil {
		return Settled{Err: reply.Err}
	}
	switch call.Script {
	case completeScript:
		r := redisconn.Read(call.Script.Name, reply.Value)
		settled := Settled{Gone: r.Texts(), Cancelled: someTexts(r), Waited: someTexts(r)}
		settled.readRest(r)
		return settled
	case releaseScript:
		r := redisconn.NewReader(call.Script.Name, reply.Value, nil)
		return Settled{Gone: r.TextsOf(reply.Value), Err: r.Err()}
	case endScript:
		return parseOne(call, reply.Value, call.Args[2])
	}
	return parseOne(call, reply.Value, call.Args[0])
}

// parseOne reads the word with which a call for a single claim is answered.
func parseOne(call redisconn.Call, value, element any) Settled {
	named := []string{element.(string)}
	answer, text, over := strings.Cut(Word(value), "\n")
	var settled Settled
	if over {
		end, err := parseFlowEnd(call.Script.Name, text)
		if err != nil {
			return Settled{Err: err}
		}
		settled.Flows = []FlowEnd{end}
	}
	switch answer {
	case "gone":
		settled.Gone = named
	case "cancelled":
		settled.Cancelled = named
	case "waited":
		settled.Waited = named
	case "shelved", "ended":
	case "roomy":
		settled.Roomy = true
	default:
		settled.Err = &redisconn.UnexpectedReplyError{Script: call.Script.Name, Reply: value}
	}
	return settled
}
