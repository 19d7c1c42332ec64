package rdb

import (
	"context"
	"fmt"
	"strconv"

	"github.com/265d0351/work/internal/redisconn"
)

// Membership is the part of a job in a flow. The zero value is that of a job which is in none. What there is of flows
// beside it is in package flowdb.
type Membership struct {
	Flow   string   // its id
	Member string   // the name of the job in it
	Queues []string // names of jobs that may wait for it: those of others are put into their queues later
	Result []byte   // what the others may ask for; nil is none
	Leaf   bool     // nobody waits for it, but for members that were added since the flow was stored
}

// FlowOwn is how many of FlowKeys are the flow's own.
const FlowOwn = 9

// FlowKeys are the keys of a flow, as the scripts want them, with room for those of a few queues.
func (s *Store) FlowKeys(id string) []string { return s.keys.flow(id) }

func (k *keys) flow(id string) []string {
	at := func(part string) string { return k.prefix + "flow." + part + ":" + id }
	return append(make([]string, 0, 17+4*4), k.prefix+"flow:"+id, at("records"), at("members"), at("left"), at("ends"),
		at("edges"), at("unmet"), at("todo"), at("results"), k.flowsBusy(), k.flowsOver(), k.queues,
		k.ready, k.limits, k.jobs, k.done, k.control)
}

func (k *keys) flowsBusy() string { return k.prefix + "flows:busy" }

// FlowsOpen is the score in flows:over from which on flows run: it, and the ms when each was sealed.
const FlowsOpen = "4000000000000000"

func (k *keys) flowsOver() string { return k.prefix + "flows:over" }

// WithQueues adds queues, their keys and their names.
func (s *Store) WithQueues(keys []string, args []any, names []string) ([]string, []any) {
	return s.keys.withQueues(keys, args, names)
}

func (k *keys) withQueues(keys []string, args []any, names []string) ([]string, []any) {
	for _, name := range names {
		keys, args = k.queue(name).appendTo(keys), append(args, name)
	}
	return keys, args
}

// MaxFlows is in how many flows the members may be that one call of [Worker.Complete] ends.
const MaxFlows = 100

// maxEndQueues is how many queues such a call names. Who waits in others is put there later.
const maxEndQueues = 64

// appendFlows adds what is about the flows of those that ended, if some are members: see job/complete.
func (k *keys) appendFlows(keys []string, args []any, ended []Ended, place []int) ([]string, []any) {
	var ids, queues []string
	of := map[string][]int{} // flow -> indices
	known := map[string]bool{}
	for i := range ended {
		part := &ended[i].Flow
		if part.Flow == "" {
			continue
		}
		if of[part.Flow] == nil {
			ids = append(ids, part.Flow)
		}
		of[part.Flow] = append(of[part.Flow], i)
		for _, name := range part.Queues {
			if !known[name] && len(queues) < maxEndQueues {
				known[name], queues = true, append(queues, name)
			}
		}
	}
	if ids == nil {
		return keys, args
	}
	args[0] = fmt.Sprint(args[0], "@", len(keys)+1, ":", len(args)+1)
	keys = append(keys, k.queues, k.ready, k.control, k.flowsBusy(), k.flowsOver())
	args = append(args, len(ids), len(queues))
	for _, name := range queues {
		args = append(args, name)
	}
	for _, id := range ids {
		keys = append(keys, k.flow(id)[:FlowOwn]...)
		args = append(args, 0)
		count := len(args)
		args = appendParts(args, ended, of[id], place)
		args[count-1] = len(args) - count
	}
	for _, name := range queues {
		keys = k.queue(name).appendTo(keys)
	}
	return keys, args
}

// appendParts says of those of a flow which ones of a call they are, and how each has ended.
func appendParts(args []any, ended []Ended, of, place []int) []any {
	for at := 0; at < len(of); at++ {
		first := at
		leaf := ""
		if ended[of[at]].Flow.Leaf {
			leaf = "l"
		}
		for at+1 < len(of) && place[of[at+1]] == place[of[at]]+1 && ended[of[at]].alike(&ended[of[at+1]]) {
			at++
		}
		if at > first {
			args = append(args, leaf+strconv.Itoa(place[of[first]])+"-"+strconv.Itoa(place[of[at]]))
			continue
		}
		args = append(args, leaf+ended[of[at]].inFlow(place[of[at]]))
	}
	return args
}

// plain tells whether all that its flow need know is that it is done.
func (e *Ended) plain() bool { return e.State == "done" && e.Flow.Result == nil }

// alike tells whether one word says how both have ended.
func (e *Ended) alike(next *Ended) bool {
	return e.plain() && next.plain() && e.Flow.Leaf == next.Flow.Leaf
}

// inFlow says which one of a call it is, and how it ended.
func (e *Ended) inFlow(place int) string {
	nth := strconv.Itoa(place)
	switch {
	case e.State != "done":
		return nth + " " + e.State + " " + e.Queue
	case e.Flow.Result != nil:
		return nth + "=" + string(e.Flow.Result)
	}
	return nth
}

// FlowsAreOver tells of each of some flows whether it has ended, or is not there; "" is no flow, and that is over.
func (s *Store) FlowsAreOver(ctx context.Context, ids []string) ([]bool, error) {
	over := make([]bool, len(ids))
	var calls []redisconn.Call
	for i, id := range ids {
		if over[i] = id == ""; !over[i] {
			calls = append(calls, redisconn.Call{Command: "HGET", Args: []any{s.keys.flow(id)[0], "state"}})
		}
	}
	if len(calls) == 0 {
		return over, nil
	}
	replies, err := s.driver.Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	for i := range ids {
		if ids[i] == "" {
			continue
		}
		if replies[0].Err != nil {
			return nil, replies[0].Err
		}
		switch Word(replies[0].Value) {
		case "", "done", "dead", "cancelled":
			over[i] = true
		}
		replies = replies[1:]
	}
	return over, nil
}

// At is the version of the map of the partitions by which the store is used: see [Store.AtMap].
func (s *Store) At() int64 { return s.at }

// Routed makes the refusal of a script that the map has changed a *[RouteError]; other errors stay as they are.
func Routed(err error) error { return routed(err) }

// QueueKeys adds the keys of a queue, as the scripts want them.
func (s *Store) QueueKeys(keys []string, name string) []string {
	return s.keys.queue(name).appendTo(keys)
}

// Key is the key of that name in the namespace.
func (s *Store) Key(name string) string { return s.keys.prefix + name }
