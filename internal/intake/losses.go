package intake

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

const (
	// quietFor is after how long without a call it is looked whether a failover has lost the last ones. A replica that
	// was further behind would have been no replica for long.
	quietFor = 30 * time.Second
	// mostLooks is how often that is tried while Redis does not answer. After that the next call finds out.
	mostLooks = 10
	// lastLook is for how long Close looks: a program that ends has nothing to find out later, nor much time.
	lastLook = time.Second
)

// Loss is what Redis has forgotten of what it had acknowledged.
type Loss struct {
	IDs      []string // of the jobs, as far as they are remembered, in the order of their calls
	Flows    []string // ids of flows, likewise
	Failover bool     // it remembers older calls: a replica that was behind took over; else it knows nothing any more
	Err      error    // says that there are more than these; nil where they are all
}

// losses gathers what is lost until it is told. All is guarded by the mu of lanes.
type losses struct {
	ids        []string
	flows      []string
	failover   bool
	unnamed    int64 // calls of which not all jobs are remembered
	telling    bool
	looking    *time.Timer // nil while nothing was called lately
	looks      int         // that have failed
	lastAnswer time.Time
}

// stopLooking is called with mu held when nobody calls any more.
func (s *losses) stopLooking() {
	if s.looking != nil {
		s.looking.Stop()
	}
}

// noteAnswered notes that the present call of a lane was answered, and what Redis said that it had forgotten of those
// before; mu is held.
func (l *lanes) noteAnswered(own *lane, rewound rdb.Rewind) {
	if rewound != (rdb.Rewind{}) {
		l.noteForgotten(own, rewound)
	}
	own.known, own.answered = own.number, time.Now().Round(0)
	l.losses.lastAnswer = own.answered
	if l.losses.looking == nil && !l.closed {
		l.losses.looking = time.AfterFunc(quietFor, l.lookWhenQuiet)
	}
}

// noteForgotten notes that Redis has forgotten calls of a lane, and has it told; mu is held. A look and a call that
// were under way together both find it: it is told once.
func (l *lanes) noteForgotten(own *lane, rewound rdb.Rewind) {
	own.forget(rewound)
	if own.known <= rewound.Had {
		return
	}
	own.known = rewound.Had
	ids, all := own.recent.take(rewound)
	s := &l.losses
	if own.flows {
		s.flows = append(s.flows, ids...)
	} else {
		s.ids = append(s.ids, ids...)
	}
	s.failover = s.failover || rewound.Had > 0
	if !all {
		s.unnamed += min(own.recent.dropped, rewound.At-1) - rewound.Had
	}
	if !s.telling {
		s.telling = true
		l.serving.Go(l.tellLosses)
	}
}

// tellLosses tells what is lost, of all lanes at once: what one of them has found is true of the others.
func (l *lanes) tellLosses() {
	for _, s := range l.present() {
		if s.Uploads != nil {
			s.Uploads.ForgetAll()
		}
	}
	ctx, cancel := context.WithTimeout(l.life, l.Timeout)
	_ = l.look(ctx) // the next calls find out
	cancel()
	l.giveMap()
	l.mu.Lock()
	s := &l.losses
	loss := Loss{IDs: s.ids, Flows: s.flows, Failover: s.failover}
	if s.unnamed > 0 {
		loss.Err = fmt.Errorf("%d calls before those are lost as well: the last %d jobs of %s are remembered, and"+
			" Redis has gone back further", s.unnamed, recentJobs, recentFor)
	}
	s.ids, s.flows, s.failover, s.unnamed, s.telling = nil, nil, false, 0, false
	l.mu.Unlock()
	if l.Lost != nil && (len(loss.IDs) > 0 || len(loss.Flows) > 0 || loss.Err != nil) {
		l.Lost(loss)
	}
}

// giveMap gives the map of the partitions to those who have lost it with the rest. Whoever starts after that would
// believe in one partition, and leave alone what waits in the others.
func (l *lanes) giveMap() {
	if l.Directory == nil || l.current().Single() {
		return
	}
	ctx, cancel := context.WithTimeout(l.life, l.Timeout)
	defer cancel()
	_ = l.Directory.Refresh(ctx) // the heartbeats of workers do the same
}

// lookWhenQuiet looks once nothing was called for a while. A call that comes meanwhile finds out by itself.
func (l *lanes) lookWhenQuiet() {
	l.mu.Lock()
	s := &l.losses
	quiet := time.Now().Round(0).Sub(s.lastAnswer)
	if l.closed || quiet >= 0 && quiet < quietFor {
		if !l.closed {
			s.looking.Reset(quietFor - quiet)
		}
		l.mu.Unlock()
		return
	}
	l.callers++ // Close waits for it
	l.mu.Unlock()
	defer l.leave()
	ctx, cancel := context.WithTimeout(l.life, l.Timeout)
	defer cancel()
	err := l.look(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		l.forgetOld()
	}
	quiet = time.Now().Round(0).Sub(s.lastAnswer)
	called := quiet >= 0 && quiet < quietFor // while it looked: that has to be looked at, too
	if s.looks++; !called && (err == nil || s.looks == mostLooks) {
		s.looks, s.looking = 0, nil
		return
	}
	if !l.closed {
		s.looking.Reset(quietFor)
	}
}

// forgetOld gives up the memory of jobs that no replica can lack; mu is held.
func (l *lanes) forgetOld() {
	for _, own := range l.all {
		own.recent.forgetOld()
	}
}

// lookLast makes the look of a quiet time that Close did not wait for, where one was due.
func (l *lanes) lookLast() {
	l.mu.Lock()
	due := l.losses.looking != nil
	l.mu.Unlock()
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(l.life, lastLook)
	defer cancel()
	_ = l.look(ctx) // nobody is left who could find out later
}

// look compares what Redis knows of the lanes with what was answered, in all partitions at once.
func (l *lanes) look(ctx context.Context) error {
	sites := l.present()
	failed := make([]error, len(sites))
	var looking sync.WaitGroup
	for i, s := range sites[min(1, len(sites)):] {
		looking.Go(func() { failed[i+1] = l.lookAt(ctx, s) })
	}
	if len(sites) > 0 { // most programs have one
		failed[0] = l.lookAt(ctx, sites[0])
	}
	looking.Wait()
	return excerpt.Join(failed...)
}

// lookAt compares what one partition knows of its lanes with what it has answered.
func (l *lanes) lookAt(ctx context.Context, s *site) error {
	var asked []*lane
	var names []string
	var known []int64
	l.mu.Lock()
	for _, own := range l.all {
		if own.site == s && own.trusted() {
			asked, names, known = append(asked, own), append(names, own.id), append(known, own.known)
		}
	}
	l.mu.Unlock()
	if len(asked) == 0 {
		return nil
	}
	var states []rdb.LaneState
	err := l.Steps.UntilAnswered(ctx, func(ctx context.Context) (err error) {
		states, err = s.Store.Lanes(ctx, names)
		return err
	})
	if err != nil {
		return excerpt.Error(l.located(err, s))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// A lane that was answered meanwhile has been told by that answer, or will be by the next one.
	for i, own := range asked {
		if state := states[i]; state.Number < known[i] && own.known == known[i] {
			l.noteForgotten(own, rdb.Rewind{Had: state.Number, At: known[i] + 1})
		}
	}
	return nil
}
