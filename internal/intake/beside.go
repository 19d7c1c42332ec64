package intake

import "github.com/265d0351/work/internal/rdb"

// Kind is what is stored by a [Beside].
type Kind int

// The kinds.
const (
	AFlow   Kind = iota // told in the Flows of a [Loss]
	AMember             // a job that was added to a flow, told in the IDs
)

// Beside is a call that stores something by a script of its own: a flow, or a member of one. Behind it in its pipeline
// it is noted in a lane, so that it is told like an enqueue should Redis forget it: see rdb.Store.CallNoted. One
// goroutine uses it.
type Beside struct {
	lanes *lanes
	set   *laneSet
	lane  *lane
}

// Beside begins a call to a partition, that of an enqueue or not; End must follow, unless there is an error. Each has
// a lane to itself: there are as many as callers at a time.
func (in *Intake) Beside(partition int, kind Kind) (*Beside, error) {
	l := in.lanes
	if err := l.enter(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.site(partition)
	b := &Beside{lanes: l, set: &at.beside[kind]}
	b.lane = b.set.take(l, at, nil)
	b.lane.flows = kind == AFlow
	b.lane.number++
	return b, nil
}

// Call names the call in its lane, as it is to be sent now.
func (b *Beside) Call() rdb.LaneCall {
	b.lanes.mu.Lock()
	defer b.lanes.mu.Unlock()
	return b.lane.call()
}

// Answered notes that the call was answered, and what it has stored; "" where that is nothing.
func (b *Beside) Answered(noted rdb.Noted, id string) {
	if noted.Err != nil {
		return // it is not noted in the lane: nobody could tell whether Redis has forgotten it
	}
	b.lanes.mu.Lock()
	defer b.lanes.mu.Unlock()
	b.lanes.noteAnswered(b.lane, noted.Rewound)
	if id != "" {
		b.lane.recent.add(b.lane.number, []rdb.NewJob{{ID: id}}, nil)
	}
}

// End gives the lane back. What comes of a call that was not answered, nobody knows.
func (b *Beside) End() {
	b.lanes.mu.Lock()
	b.set.free = append(b.set.free, b.lane)
	b.lanes.mu.Unlock()
	b.lanes.leave()
}
