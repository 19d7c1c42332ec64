package demo

import (
	"fmt"
	"time"

	"github.com/265d0351/work/cmd/work/internal/human"
)

// killer kills one process of a fleet in the middle of its work. Nothing would be shown by killing an idle one, and
// what is known of a process here lags behind what it does: so each ends a share of the runs only, and holds the next
// ones. The first to do so is killed, the others are told to go on.
type killer struct {
	fleet *fleet
	log   *runLog
	tell  func(text string)

	victim *process // nil until one was killed
	killed time.Time
}

// holdAt is the run at which each of so many processes holds: low enough that one of them gets there, whoever gets the
// jobs, and high enough to be midway.
func holdAt(jobs, processes int) int { return max(1, jobs/(3*processes)) }

// killHolder kills the process that holds its runs, once there is one.
func (k *killer) killHolder() {
	number := k.log.firstHolder()
	if k.victim != nil || number == 0 || k.fleet.dead(number) { // one that died by itself is none of ours
		return
	}
	k.victim, k.killed = k.fleet.process(number), time.Now()
	k.victim.kill()
	<-k.victim.ended // by now the log of runs has all that it said
	for _, m := range k.fleet.processes {
		if m != k.victim {
			m.goOn()
		}
	}
	k.tell(fmt.Sprintf("killed process %d (pid %d), which was running %s; the others take over once it is known to be "+
		"dead",
		number, k.victim.pid(), human.Counted(len(k.log.held(number)), "job")))
}

// kill is what became of the jobs of the process that was killed.
type kill struct {
	Process  int           `json:"process"`
	PID      int           `json:"pid"`
	Held     int           `json:"held"`     // jobs that it was running
	Repeated int           `json:"repeated"` // jobs that it had run but whose end it could not tell any more
	Restart  human.Seconds `json:"restart_seconds"`
}

// outcome says what was killed; nil if nothing was. The second answer is the ids of jobs that nobody began again.
func (k *killer) outcome(orders []order) (*kill, []string) {
	if k == nil || k.victim == nil {
		return nil, nil
	}
	after, notYet := k.log.restarts(k.victim.number, k.killed)
	held := &kill{Process: k.victim.number, PID: k.victim.pid(), Held: len(after) + len(notYet)}
	for _, d := range after {
		held.Restart = max(held.Restart, human.Seconds(d))
	}
	for _, o := range orders {
		runs := k.log.of(o.id)
		for i, r := range runs {
			later := i < len(runs)-1
			if r.process == k.victim.number && !r.ended.IsZero() && r.err == "" && later {
				held.Repeated++
			}
		}
	}
	return held, notYet
}

// String tells it in a sentence.
func (k *kill) String() string {
	text := fmt.Sprintf("process %d (pid %d) with SIGKILL while it was running %s", k.Process, k.PID,
		human.Counted(k.Held, "job"))
	if k.Held > 0 {
		text += fmt.Sprintf("; the last of them was begun again elsewhere after %s", k.Restart)
	}
	if k.Repeated > 0 {
		text += fmt.Sprintf("; %s that it had run were run again, since it could not tell their end",
			human.Counted(k.Repeated, "job"))
	}
	return text
}
