// Package rewound keeps what a worker knows of a Redis that went back in time: a replica that had not got the last
// writes took over, so that numbers are smaller than those which were acknowledged, and claims stand again of jobs
// whose outcome was acknowledged. It knows no Redis; the worker tells it what it meets, and asks it what to do.
package rewound

import (
	"slices"
	"sync"
)

// The bounds of a book. Of what is older it cannot tell any more that an outcome was forgotten.
const (
	fetches = 2048 // of which it is known how many outcomes were acknowledged
	doubts  = 1024 // fetches of which it is known that they were not answered
)

// Loss is what is known of one failover.
type Loss struct {
	Held      int // jobs that the worker holds
	Restored  int // jobs that were stored again
	Reclaimed int // jobs that waited again and were claimed again
	Outcomes  int // acknowledged outcomes that Redis forgot
	Err       error
}

// Book is of one identity of a worker. Its methods may be called concurrently.
type Book struct {
	mu    sync.Mutex
	ended [fetches]struct{ number, outcomes int64 }

	unanswered []int64 // numbers, ascending
	forgotten  int64   // the largest number that did not fit there

	mend  bool  // what it holds is to be stored again
	from  int64 // if it was fetched later than that
	falls int64 // how often it fell back
	turns int64 // falls, and calls that stored again what is held
	moved bool  // some of it was, since Redis fell back last
	open  bool  // there is a loss that nobody was told of
	loss  Loss
}

// Ended notes that an outcome of a job that came with that fetch was acknowledged.
func (b *Book) Ended(number int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := &b.ended[number%fetches]
	if of.number != number {
		of.number, of.outcomes = number, 0
	}
	of.outcomes++
}

// Unanswered notes that a fetch was not answered. What it has claimed nobody has ever seen.
func (b *Book) Unanswered(number int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.unanswered) == doubts {
		b.forgotten = b.unanswered[0]
		b.unanswered = append(b.unanswered[:0], b.unanswered[1:]...)
	}
	b.unanswered = append(b.unanswered, number)
}

// Answered tells whether the fetch of that number was answered, as far as that is known for certain. Then a claim of it
// that the worker does not hold has ended before, and Redis has forgotten that.
func (b *Book) Answered(number int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return number > b.forgotten && !slices.Contains(b.unanswered, number)
}

// FellBack notes that Redis knows of fetches up to that number only: what was fetched later it has forgotten, with all
// outcomes of that. Each answer says so until something is stored again: that is the same fall.
func (b *Book) FellBack(known int64, held int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.ended {
		if of := &b.ended[i]; of.number > known {
			b.loss.Outcomes += int(of.outcomes)
			of.outcomes = 0
		}
	}
	if b.moved || !b.mend || known < b.from {
		b.falls++
		b.turns++
	}
	b.moved = false
	if !b.mend || known < b.from {
		b.mend, b.from = true, known
	}
	b.begin(held)
}

// LostAll notes that Redis has lost all.
func (b *Book) LostAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.falls++
	b.turns++
}

// Falls is how often Redis fell back, or lost all.
func (b *Book) Falls() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.falls
}

// Restored notes that Redis knows some of what is held again: if it falls back now, it does so once more.
func (b *Book) Restored() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moved = true
	b.turns++
}

// Turn is how often Redis has come to know other claims than those that were made and ended: it fell back, or was told
// again what is held. While that is being mended it may do so at any moment.
func (b *Book) Turn() (turn int64, mending bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.turns, b.mend
}

// Returned notes how many claims stood again of jobs that had ended, and were given back. It returns true where that is
// the first sign of a loss.
func (b *Book) Returned(outcomes, held int) (first bool) {
	if outcomes == 0 {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	first = !b.open
	b.loss.Outcomes += outcomes
	b.begin(held)
	return first
}

func (b *Book) begin(held int) {
	b.open = true
	b.loss.Held = max(b.loss.Held, held)
}

// ToMend tells whether the worker must make Redis know again what it holds, of fetches later than that number.
func (b *Book) ToMend() (from int64, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.from, b.mend
}

// Mend is what came of mending.
type Mend struct {
	Restored, Reclaimed int
	Left                bool // some is still to be mended, and nothing is told yet
	Err                 error
}

// Mended notes what came of mending what was fetched later than that number.
func (b *Book) Mended(from int64, mend Mend) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// what is mended twice, since more turned out to be forgotten meanwhile, counts once
	b.loss.Restored = min(b.loss.Restored+mend.Restored, b.loss.Held)
	b.loss.Reclaimed += mend.Reclaimed
	b.loss.Err = mend.Err
	if !mend.Left && from == b.from {
		b.mend = false
	}
}

// Tell returns the loss, once, when all of it was mended.
func (b *Book) Tell() (loss Loss, is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open || b.mend {
		return Loss{}, false
	}
	loss = b.loss
	b.open, b.loss = false, Loss{}
	return loss, true
}
