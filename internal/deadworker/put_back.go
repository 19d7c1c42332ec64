// Package deadworker puts back what dead workers held, and removes what is left of them. The reaper of a pool does so,
// and the doctor where no reaper comes. It judges nobody dead.
package deadworker

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/stopped"
)

// Dead is a dead worker whose jobs are put back.
type Dead struct {
	*rdb.Worker
	Jobs int   // that were put back
	Err  error // what is in the way

	queues []string          // that it served
	held   map[string]string // element -> name, of what it was seen to hold
	failed bool              // a call was refused, so the rest is left to a later look
}

// Forget removes what is left of the worker, and tells whether nothing is. What is known of it is listed.
func (d *Dead) Forget(ctx context.Context) (gone bool, err error) {
	left, err := d.Remains(ctx)
	if err != nil {
		return false, err
	}
	_, gone, err = d.Worker.Forget(ctx, d.queues, d.describe(left).Encode())
	return gone, err
}

// describe tells what the worker was. Another reaper may have put back some of what it held: what was taken from it is
// in Redis, by ids.
func (d *Dead) describe(left rdb.Remains) stopped.Worker {
	why := stopped.Died
	if left.Info["alive"] != "" {
		why = stopped.Fenced
	}
	w := stopped.Of(left.Info, why)
	if !left.Died.IsZero() {
		w.Ended = left.Died.UnixMilli()
	}
	held := maps.Clone(d.held)
	if held == nil {
		held = map[string]string{}
	}
	for _, element := range left.Taken {
		held[element] = d.held[element]
	}
	w.Held.Jobs = len(held)
	for _, element := range slices.SortedFunc(maps.Keys(held), olderElement) {
		if len(w.Held.Some) == stopped.MostHeld {
			break
		}
		_, id, _ := strings.Cut(element, ":")
		w.Held.Some = append(w.Held.Some, stopped.Job{ID: id, Name: held[element]})
	}
	return w
}

// olderElement goes by the numbers of the fetches.
func olderElement(a, b string) int {
	first, _, _ := strings.Cut(a, ":")
	second, _, _ := strings.Cut(b, ":")
	return cmp.Or(cmp.Compare(len(first), len(second)), strings.Compare(a, b)) // they have no zeros in front
}

func (d *Dead) note(element, queue string) {
	if d.held == nil {
		d.held = map[string]string{}
	}
	d.held[element] = queue
}

func (d *Dead) refused(err error) {
	if err != nil {
		d.Err, d.failed = excerpt.Join(d.Err, err), true
	}
}

// Given is what was put back into each queue just before, oldest first.
type Given map[string][]held

// held is a claim of a dead worker.
type held struct {
	rdb.DeadClaim
	of *Dead
	at int // its place in the list of its worker, the oldest is first
}

// The bounds of what is sent together.
const (
	maxCalls = 64
	maxBytes = 1 << 20
)

// PutBack gives back what workers hold, and notes with each how much that was or what is in the way.
func PutBack(ctx context.Context, dead []*Dead, given Given) {
	for _, d := range dead {
		d.queues, d.Err = d.Queues(ctx)
	}
	for putBackSome(ctx, dead, given) {
	}
}

// putBackSome gives the newest claims of each queue back, so that the oldest comes to stand in front in the end. It is
// false once nothing is left, or what is left cannot be given back now.
func putBackSome(ctx context.Context, dead []*Dead, given Given) (more bool) {
	byQueue := map[string][]held{}
	for _, d := range dead {
		if d.failed {
			continue
		}
		left, err := d.DeadClaims(ctx, d.queues, true)
		d.refused(err)
		for _, of := range left {
			d.Err = excerpt.Join(d.Err, of.Err)
			for i, claim := range of.Claims {
				d.note(claim.Element, of.Queue)
				// whatever the clock says: the list has its order
				if i > 0 && claim.Fetched.Before(of.Claims[i-1].Fetched) {
					claim.Fetched = of.Claims[i-1].Fetched
					of.Claims[i] = claim
				}
				byQueue[of.Queue] = append(byQueue[of.Queue], held{claim, d, i})
			}
		}
	}
	var p pipeline
	for queue, claims := range byQueue {
		for _, batch := range batchesOf(claims) {
			p.add(ctx, queue, batch, given[queue])
			given[queue] = append(besides(given[queue], batch), batch...)
			slices.SortStableFunc(given[queue], held.compare)
			given[queue] = given[queue][max(0, len(given[queue])-mostGiven):]
		}
	}
	p.send(ctx)
	return p.some
}

// compare goes by Redis' clock, by the numbers, which the workers of a pool share, where that shows the same, and among
// what one fetch brought by the list.
func (b held) compare(other held) int {
	return cmp.Or(b.Fetched.Compare(other.Fetched), cmp.Compare(b.Number, other.Number), cmp.Compare(b.at, other.at))
}

// batchesOf are the claims of each worker, as many as one call may give back, the newest first. Those of a worker go
// together: who is to blame for its death is judged by all that one call names.
func batchesOf(claims []held) (batches [][]held) {
	for len(claims) > 0 {
		to, of := 0, claims[0].of
		for to < len(claims) && claims[to].of == of {
			to++
		}
		for end := to; end > 0; end -= rdb.MaxBatch {
			batches = append(batches, claims[max(0, end-rdb.MaxBatch):end])
		}
		claims = claims[to:]
	}
	slices.SortStableFunc(batches, func(a, b []held) int { return b[len(b)-1].compare(a[len(a)-1]) })
	return batches
}

// pipeline gathers calls that are sent together, each with the batch that it gives back.
type pipeline struct {
	calls   []redisconn.Call
	batches [][]held
	bytes   int
	some    bool // a call has given something back
}

// add adds the call that gives a batch back, behind what is older and was given back before. Where that is more than a
// call may name, what was gathered is sent first: only then does it stand where it is looked for.
func (p *pipeline) add(ctx context.Context, queue string, batch, given []held) {
	of, older := batch[0].of, olderThan(batch, given)
	if len(older) > rdb.MaxOlder {
		p.send(ctx)
		var err error
		if older, err = of.OlderInFront(ctx, queue, older); err != nil {
			of.refused(err)
			return
		}
	}
	released := rdb.Released{Queue: queue, Elements: make([]string, len(batch)), Died: of.ID, Older: older}
	bytes := 0
	for i, claim := range batch {
		released.Elements[i] = claim.Element
		bytes += len(claim.Element)
	}
	for _, one := range older {
		bytes += len(one.ID)
	}
	if len(p.calls) == maxCalls || p.bytes+bytes > maxBytes {
		p.send(ctx)
	}
	p.calls, p.batches, p.bytes = append(p.calls, of.Release(released)), append(p.batches, batch), p.bytes+bytes
}

// olderThan are those of the given ones that were fetched before some of the batch, by another worker: of its own it
// goes by the list.
func olderThan(batch, given []held) (older []rdb.Older) {
	before := 0
	for _, claim := range given {
		if claim.of.ID == batch[0].of.ID {
			continue
		}
		for before < len(batch) && batch[before].compare(claim) < 0 {
			before++
		}
		if before == len(batch) {
			break
		}
		_, id, _ := strings.Cut(claim.Element, ":")
		older = append(older, rdb.Older{ID: id, Before: before + 1})
	}
	return older
}

// send sends the calls, and notes with each worker what became of its own.
func (p *pipeline) send(ctx context.Context) {
	if len(p.calls) == 0 {
		return
	}
	settled, err := p.batches[0][0].of.Settle(ctx, p.calls)
	for i, batch := range p.batches {
		of, failed := batch[0].of, err
		if failed == nil {
			failed = settled[i].Err
		}
		if failed != nil {
			of.refused(failed)
			continue
		}
		given := len(batch) - len(settled[i].Gone)
		of.Jobs += given
		p.some = p.some || given > 0
	}
	p.calls, p.batches, p.bytes = nil, nil, 0
}

// mostGiven is how many claims of a queue are remembered, the newest: as many as forty workers may hold.
const mostGiven = 20 * rdb.MaxOlder

// besides leaves out what a batch names again: an earlier call of it was refused or not answered, or another worker has
// died with it since.
func besides(given, batch []held) []held {
	again := make(map[string]bool, len(batch))
	for _, claim := range batch {
		_, id, _ := strings.Cut(claim.Element, ":")
		again[id] = true
	}
	return slices.DeleteFunc(given, func(b held) bool {
		_, id, _ := strings.Cut(b.Element, ":")
		return again[id]
	})
}
