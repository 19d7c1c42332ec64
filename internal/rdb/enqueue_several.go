package rdb

import (
	"slices"
	"sync"

	"github.com/265d0351/work/internal/redisconn"
)

var enqueueSeveralScript = redisconn.Load("job/enqueue_several")

// severalCall is a call of job/enqueue_several with the room for what belongs to it, which is used again. Its jobs are
// grouped by where they go.
type severalCall struct {
	calls   [1]redisconn.Call
	lane    string
	numbers []byte
	keys    []string
	args    []any // pointers, as in plainCall
	order   []int // which of the jobs the n-th is that the script sees

	groups  []severalGroup
	of      []int // the group of each job
	indices map[severalGroup]int
}

// severalGroup are the jobs that go to one end of one queue.
type severalGroup struct {
	queue string
	front bool
	jobs  int // 0 as a key
	from  int // the first of them, as the script sees them
}

// fewGroups is up to how many groups it takes longer to look them up in a map.
const fewGroups = 16

var severalCalls = sync.Pool{New: func() any { return &severalCall{indices: map[severalGroup]int{}} }}

// several tells whether the jobs are what job/enqueue_several is made for, where they go to several places.
func several(jobs []NewJob) bool {
	return !slices.ContainsFunc(jobs, func(job NewJob) bool { return job.special() || job.keyed() })
}

func (c *severalCall) fill(k *keys, in LaneCall, jobs []NewJob) {
	c.group(jobs)
	c.lane, c.numbers = in.Lane, in.appendNumbers(c.numbers[:0])
	c.keys = append(c.keys[:0], k.lanes, k.jobs, k.queues, k.ready, k.limits)
	c.args = append(slices.Grow(c.args[:0], 3+3*len(c.groups)+2*len(jobs)), &c.lane, &c.numbers, len(c.groups))
	from := 0
	for i := range c.groups {
		g := &c.groups[i]
		place := Back
		if g.front {
			place = Front
		}
		c.keys = k.queue(g.queue).appendTo(c.keys)
		c.args = append(c.args, &g.queue, place.arg(), g.jobs)
		g.from, from = from, from+g.jobs
	}
	for i, g := range c.of {
		c.order[c.groups[g].from] = i
		c.groups[g].from++
	}
	for _, i := range c.order {
		c.args = append(c.args, &jobs[i].ID, &jobs[i].Record)
	}
	c.calls[0] = redisconn.Call{Script: enqueueSeveralScript, Keys: c.keys, Args: c.args}
}

// group finds the groups, in the order of their first jobs, and the one of each job.
func (c *severalCall) group(jobs []NewJob) {
	c.groups = c.groups[:0]
	c.of = slices.Grow(c.of[:0], len(jobs))[:len(jobs)]
	c.order = slices.Grow(c.order[:0], len(jobs))[:len(jobs)]
	for i := range jobs {
		at := c.find(severalGroup{queue: jobs[i].Queue, front: jobs[i].Place == Front})
		c.groups[at].jobs++
		c.of[i] = at
	}
}

// find returns the index of a group, which is added if it is new.
func (c *severalCall) find(g severalGroup) int {
	if len(c.groups) <= fewGroups {
		for at := range c.groups {
			if other := &c.groups[at]; other.front == g.front && other.queue == g.queue {
				return at
			}
		}
	} else if at, known := c.indices[g]; known {
		return at
	}
	c.groups = append(c.groups, g)
	switch n := len(c.groups); {
	case n == fewGroups+1:
		for at := range c.groups {
			c.indices[severalGroup{queue: c.groups[at].queue, front: c.groups[at].front}] = at
		}
	case n > fewGroups+1:
		c.indices[g] = n - 1
	}
	return len(c.groups) - 1
}

// putBack lets another call have the room. It forgets the jobs.
func (c *severalCall) putBack() {
	clear(c.args)
	clear(c.keys)
	clear(c.groups)
	clear(c.indices)
	c.calls[0] = redisconn.Call{}
	severalCalls.Put(c)
}
