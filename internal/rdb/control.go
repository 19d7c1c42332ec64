package rdb

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/redisconn"
)

var moveScript = redisconn.Load("inspect/move")

// JobPlace is where a job that no worker holds was seen.
type JobPlace struct {
	ID    string
	Queue string // its own, also where it is on a shelf
	Shelf Shelf  // "" in its queue
	Score string // on its shelf, as Redis writes it
}

// Name is the name of the job, whatever it needs.
func (p *JobPlace) Name() string { return needs.Name(p.Queue) }

// Destination is where a job goes.
type Destination struct {
	Shelf Shelf // "" for its queue
	Front bool  // of its queue, instead of the back
	At    int64 // ms, on its shelf; 0 is now
	Trail []byte
	Lock  string // digest of a lock until it has ended, which it takes; "" for none
}

// Answer is what came of an order to move or end a job.
type Answer string

// The answers to an order.
const (
	AnswerDone      Answer = "done"
	AnswerFlagged   Answer = "flagged"   // so is this, but it stands where it stood until its turn comes
	AnswerGone      Answer = "gone"      // it does not stand there any more
	AnswerHeld      Answer = "held"      // a worker has it
	AnswerCancelled Answer = "cancelled" // it is to end as cancelled
	AnswerFar       Answer = "far"       // it stands too deep in its queue, or is not there any more
	AnswerOwned     Answer = "owned"     // another job has the lock that it is to take
	AnswerWaited    Answer = "waited"    // somebody waits for its outcome, and none was sent along
)

// Order is an order to move or end a job; [Store.Execute] carries it out.
type Order struct {
	call  redisconn.Call
	queue string
}

// Move is the order to take a job from where it stands to another place. A nil Trail leaves the one that is there.
func (s *Store) Move(from JobPlace, to Destination) Order {
	place := "back"
	switch {
	case to.Shelf != "" && to.At == 0:
		place = "now"
	case to.Shelf != "":
		place = strconv.FormatInt(to.At, 10)
	case to.Front:
		place = "front"
	}
	return s.move(from, s.placeKey(from.Queue, to.Shelf), place, to)
}

// Flag is the order to end a job that waits in its queue, too deep to be taken out: it reads as ended so from now on,
// and whoever fetches it ends it.
func (s *Store) Flag(from JobPlace, ending Ending) Order {
	ending.ID, ending.Queue = from.ID, from.Queue
	return Order{s.keepOutcome(ending, true), from.Queue}
}

func (s *Store) move(from JobPlace, key, place string, to Destination) Order {
	k := s.keys
	keys := k.queue(from.Queue).appendTo([]string{k.claimed, k.jobs, k.names, k.trail, k.ready, k.control, k.limits,
		k.cancelled})
	return Order{queue: from.Queue, call: redisconn.Call{
		Script: moveScript,
		Keys:   k.lines(append(keys, s.placeKey(from.Queue, from.Shelf), key, k.unique, k.foreign)),
		Args: []any{from.ID, from.Queue, from.Score, place, to.Trail, positionReach, to.Lock,
			to.Shelf == ShelfMorgue},
	}}
}

// Remove is the order to end a job where it stands. Without a Score it ends on its shelf however it came there.
func (s *Store) Remove(from JobPlace, ending Ending) Order {
	place := endPlace{kind: "queue", key: s.placeKey(from.Queue, from.Shelf)}
	if from.Shelf != "" {
		place.kind, place.member = "shelf", from.Score
	}
	ending.ID, ending.Queue = from.ID, from.Queue
	return Order{s.end(place, ending), from.Queue}
}

func (s *Store) placeKey(queue string, shelf Shelf) string {
	if shelf == "" {
		return s.keys.queue(queue).queue
	}
	return s.keys.shelf(shelf)
}

// OrderResult is what came of one order.
type OrderResult struct {
	Answer Answer
	Owner  string // the other job, where the answer is [AnswerOwned]
	Err    error  // with which Redis refused it; nothing was done
}

// Execute carries out orders, in pipelines, and answers each. An error of its own means that some were not answered;
// they may be given again.
func (s *Store) Execute(ctx context.Context, orders []Order) ([]OrderResult, error) {
	all := make([]OrderResult, 0, len(orders))
	for len(orders) > 0 {
		n := min(len(orders), maxPipeline)
		calls := make([]redisconn.Call, n)
		for i, order := range orders[:n] {
			calls[i] = order.call
		}
		replies, err := s.driver.Pipeline(ctx, calls...)
		if err != nil {
			return all, err
		}
		var roomy []string
		for i, reply := range replies {
			word, err := s.ended(calls[i], &reply)
			all = append(all, parseOrderResult(calls[i].Script.Name, reply))
			if err != nil {
				all[len(all)-1].Err = err
			}
			if word == wordRoomy {
				roomy = append(roomy, orders[i].queue)
			}
		}
		s.tellRoom(ctx, roomy)
		orders = orders[n:]
	}
	return all, nil
}

// ended reads the word with which an order was answered, and tells of a flow that has ended thereby.
func (s *Store) ended(call redisconn.Call, reply *redisconn.Reply) (word string, err error) {
	word = Word(reply.Value)
	if call.Script != endScript || reply.Err != nil {
		return word, nil
	}
	word, err = s.FlowEnded(endScript.Name, word)
	reply.Value = []byte(word)
	return word, err
}

// wordRoomy says that a job has ended, and that its queue may have room now.
const wordRoomy = "roomy"

// tellRoom leaves tokens for queues that may have room now, as jobs that are parked were given the places of others. It
// is for people who end jobs, and tells no error: the queues are listed as ready, and the janitor leaves tokens too.
func (s *Store) tellRoom(ctx context.Context, queues []string) {
	if len(queues) > 0 {
		slices.Sort(queues)
		_ = s.WakeAfterEnd(ctx, slices.Compact(queues))
	}
}

func parseOrderResult(script string, reply redisconn.Reply) OrderResult {
	if reply.Err != nil {
		return OrderResult{Err: reply.Err}
	}
	if owner, owned := strings.CutPrefix(Word(reply.Value), "unique:"); owned {
		return OrderResult{Answer: AnswerOwned, Owner: owner}
	}
	switch answer := Word(reply.Value); answer {
	case "moved", "ended", wordRoomy:
		return OrderResult{Answer: AnswerDone}
	case "flagged", "gone", "held", "cancelled", "far", "waited":
		return OrderResult{Answer: Answer(answer)}
	}
	return OrderResult{Err: &redisconn.UnexpectedReplyError{Script: script, Reply: reply.Value}}
}
