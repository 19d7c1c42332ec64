package main

import (
	"fmt"
	"slices"
	"time"
)

// killer kills one process of a fleet in the middle of its work.
type killer struct {
	fleet *fleet
	book  *ledger
	after int // how many jobs have to be done before
	tell  func(text string)

	victim *member // nil until it was chosen
	killed time.Time
}

// look chooses the process that is running the most jobs, once enough are done, and kills it. Nothing would be shown by killing an
// idle one, and the ledger lags behind: so the victim is told to end no more jobs first, and killed once it has said so and
// holds some.
func (k *killer) look(done int) {
	if k.victim == nil && done >= k.after {
		k.choose()
	}
	if k.victim == nil || !k.killed.IsZero() || !k.book.holding(k.victim.number) || len(k.book.held(k.victim.number)) == 0 {
		return
	}
	k.kill(k.victim)
}

func (k *killer) choose() {
	busiest := slices.MaxFunc(k.fleet.members, func(a, b *member) int {
		return len(k.book.held(a.number)) - len(k.book.held(b.number))
	})
	if len(k.book.held(busiest.number)) > 0 {
		k.victim = busiest
		busiest.hold()
	}
}

func (k *killer) kill(victim *member) {
	k.killed = time.Now()
	victim.kill()
	<-victim.ended // by now the ledger has all that it said
	k.tell(fmt.Sprintf("killed process %d (pid %d), which was running %s; the others take over once it is known to be dead",
		victim.number, victim.pid(), counted(len(k.book.held(victim.number)), "job")))
}

// kill is what became of the jobs of the process that was killed.
type kill struct {
	Process  int     `json:"process"`
	PID      int     `json:"pid"`
	Held     int     `json:"held"`     // jobs that it was running
	Repeated int     `json:"repeated"` // jobs that it had run but whose end it could not tell any more
	Restart  seconds `json:"restart_seconds"`
}

// outcome says what was killed; nil if nothing was. The second answer is the ids of jobs that nobody began again.
func (k *killer) outcome(orders []order) (*kill, []string) {
	if k == nil || k.killed.IsZero() {
		return nil, nil
	}
	after, notYet := k.book.restarts(k.victim.number, k.killed)
	held := &kill{Process: k.victim.number, PID: k.victim.pid(), Held: len(after) + len(notYet)}
	for _, d := range after {
		held.Restart = max(held.Restart, seconds(d))
	}
	for _, o := range orders {
		runs := k.book.of(o.id)
		for i, r := range runs {
			later := i < len(runs)-1
			if r.member == k.victim.number && !r.ended.IsZero() && r.err == "" && later {
				held.Repeated++
			}
		}
	}
	return held, notYet
}
