package workgroup

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Places are those of a group of goroutines, for which several fetch, each with [Slots] of its own: so many jobs may be
// given to the goroutines at once, wherever they come from. Who is the only one asks nobody. Where there are several,
// one that wants places waits behind those that came before, is lent all that are free when it is its turn, and gives
// back what it does not need. So none starves, and none that has nothing to fetch keeps a place from the others. One
// whose Redis answers slowly is lent no more than its part: the others fetch for the rest meanwhile.
type Places struct {
	room   int
	ahead  atomic.Int64 // that may be given to them beside that: see [Slots.FetchAhead]
	busy   atomic.Int64
	away   atomic.Int64
	lent   atomic.Int64  // to who fetches just now
	turned atomic.Int64  // how often a place was given back
	shared atomic.Bool   // several fetch, or did: what they still run takes places of who is left
	lease  time.Duration // for how long places are lent

	mu      sync.Mutex
	members []*Slots
	queue   []*Slots // who waits for places, first come
}

// leaseTime is for how long places are lent to a fetch. One whose Redis does not answer keeps them from the others no
// longer; what it brings in the end is run when there is a goroutine for it.
const leaseTime = 50 * time.Millisecond

// slowTrip is from when on a fetch is slow. A quicker one brings more if it asks for all that is free than several
// would beside each other; a slower one would keep all the places from jobs that are to be had sooner.
const slowTrip = 5 * time.Millisecond

// NewPlaces makes places for so many jobs, one for each goroutine and those that are prefetched.
func NewPlaces(room int) *Places { return &Places{room: room, lease: leaseTime} }

// Slots makes those of one more who fetches, for at most so many jobs that are held, running or not yet acknowledged.
func (p *Places) Slots(most int) *Slots {
	s := &Slots{places: p, most: most, freed: NewWakeup()}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = append(p.members, s)
	if len(p.members) > 1 {
		p.shared.Store(true)
	}
	return s
}

// Part ends the part of one who fetches no more. What it still runs keeps its places until they are vacated.
func (s *Slots) Part() {
	s.EndTurn()
	p := s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = slices.DeleteFunc(p.members, func(other *Slots) bool { return other == s })
	p.forget(s)
	p.callNext()
}

// Shared tells whether others fetch for the same goroutines, or have.
func (s *Slots) Shared() bool { return s.places.shared.Load() }

// Free is how many places nobody has; it may be negative.
func (p *Places) Free() int {
	return int(p.ahead.Load()) + p.idle()
}

// Full tells whether no goroutine is idle.
func (p *Places) Full() bool { return p.idle() <= 0 }

// idle is Free without what is fetched ahead.
func (p *Places) idle() int {
	return int(int64(p.room) - p.busy.Load() + p.away.Load() - p.lent.Load())
}

// Places are those that are shared with the others.
func (s *Slots) Places() *Places { return s.places }

// Waiting is how many wait for places.
func (p *Places) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.queue)
}

// Busy is how many places are taken.
func (p *Places) Busy() int { return int(p.busy.Load()) }

// Turned is how often a place was given back: who waits for one, or for a look at what there is, sees whether it is
// worth while.
func (s *Slots) Turned() int64 { return s.places.turned.Load() }

// vacate gives a place back, and calls who wants it.
func (p *Places) vacate() (busy int64) {
	busy = p.busy.Add(-1)
	if p.shared.Load() {
		p.turned.Add(1)
		p.call()
	}
	return busy
}

// call calls who may take what is free.
func (p *Places) call() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.callNext()
}

// callNext is call; mu is held. Where nobody waits for a place all are told that there is one: those who have nothing
// to fetch wait for that, too, before they wait for work.
func (p *Places) callNext() {
	if p.Free() <= 0 {
		return
	}
	if first := p.first(); first != nil {
		first.Signal()
		return
	}
	for _, s := range p.members {
		s.Signal()
	}
}

// first is the first of those who wait for a place and may have one: who holds as much as it may waits for Redis, and
// keeps nobody behind it from going on. mu is held.
func (p *Places) first() *Slots {
	for _, s := range p.queue {
		if s.own() > 0 {
			return s
		}
	}
	return nil
}

func (p *Places) forget(s *Slots) {
	p.queue = slices.DeleteFunc(p.queue, func(other *Slots) bool { return other == s })
}

// AwaitTurn waits for places behind those that wait already, and returns how many it was lent: none if there is news,
// or ctx has ended. EndTurn must follow. It is for those who share the places.
func (s *Slots) AwaitTurn(ctx context.Context, most int, news func() bool) (lent int) {
	s.queue()
	defer s.unqueue()
	s.Until(ctx, func() bool {
		if news() {
			return true
		}
		if s.Free() > 0 {
			Gather(func() bool { return s.Free() >= s.places.room/2 }) // the larger the fetch, the less it costs
			lent = s.Turn(most)
		}
		return lent > 0
	})
	return lent
}

func (s *Slots) queue() {
	p := s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue = append(p.queue, s)
}

// unqueue has it wait no longer, if it does. The next one is called.
func (s *Slots) unqueue() {
	p := s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(s)
	p.callNext()
}

// Spare tells whether there are places that nobody waits for.
func (s *Slots) Spare() bool {
	p := s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first() == nil && s.Free() > 0
}

// Turn lends the caller places, if there are some and it is its turn: nobody else waits, or it is the first of those
// that do. It returns how many, at most so many. EndTurn must follow. What is not returned within 50 ms is taken back.
func (s *Slots) Turn(most int) int {
	p := s.places
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.first(); first != nil && first != s {
		return 0
	}
	n := min(p.Free(), s.own(), most, p.part(s))
	if n <= 0 {
		return 0
	}
	p.forget(s)
	s.lent += n
	s.began = time.Now()
	p.lent.Add(int64(n))
	s.turns++
	turn := s.turns
	s.lapse = time.AfterFunc(p.lease, func() { s.lapsed(turn) })
	p.callNext()
	return n
}

// part is how many places one may be lent at once: all, or where its fetches are slow an equal part of them among those
// who want some. mu is held.
func (p *Places) part(s *Slots) int {
	if s.trip < slowTrip {
		return p.room
	}
	wanting := 1
	for _, other := range p.members {
		if other != s && (other.lent > 0 || slices.Contains(p.queue, other)) {
			wanting++
		}
	}
	return (p.room + wanting - 1) / wanting
}

// lapsed takes back what was lent for a turn, if that lasts on.
func (s *Slots) lapsed(turn int64) {
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	if s.turns == turn {
		s.giveBack(0)
	}
}

// KeepOnly gives back what was lent, but for so many.
func (s *Slots) KeepOnly(n int) {
	if !s.Shared() && s.lapse == nil {
		return
	}
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	s.giveBack(n)
}

// EndTurn gives back what was lent: what came of it is occupied by now. Whoever has had no turn may call it, too. Only
// who fetches may.
func (s *Slots) EndTurn() {
	if s.lapse == nil {
		return
	}
	s.lapse.Stop()
	s.lapse = nil
	s.places.mu.Lock()
	defer s.places.mu.Unlock()
	s.trip += (time.Since(s.began) - s.trip) / 4
	s.giveBack(0)
}

// giveBack leaves so many of what was lent; mu of the places is held.
func (s *Slots) giveBack(leave int) {
	if s.lent > leave {
		s.places.lent.Add(int64(leave - s.lent))
		s.lent = leave
		s.places.callNext()
	}
}
