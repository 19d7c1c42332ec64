package workgroup

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/backoff"
)

// Scaler makes a large pool cost little while it is idle. It begins with one member; while all that it has are full
// and more work waits, the next one is added; one that has been idle for a while leaves. The first stays.
type Scaler[M comparable] struct {
	group  Group[M]
	look   time.Duration
	after  time.Duration
	report func(error)
	grows  bool
	wanted Wakeup

	open []int           // the sizes of the members that are not there
	idle map[M]time.Time // since when a member was seen to be idle
}

// Group is what a Scaler adds members to.
type Group[M comparable] interface {
	// Members returns all members, the first one first.
	Members() []M
	// Add starts a member of that size. It returns false when the group takes none any more.
	Add(ctx context.Context, size int) (added bool, err error)
	// Full tells whether a member can take no more work.
	Full(M) bool
	// Busy tells whether a member has work, or is to stay for another reason.
	Busy(M) bool
	// Retire has a member take no new work, or take work again. It returns false when that was so before.
	Retire(m M, retire bool) (changed bool)
	// Remove stops a member that is retired, and returns its size. It returns false when the group stops all by itself.
	Remove(M) (size int, removed bool)
}

// Scaling says how a Scaler works.
type Scaling struct {
	Sizes  []int         // of the members that may be added to the first one
	Look   time.Duration // how often it looks who is idle
	Idle   time.Duration // after which a member leaves
	Report func(error)   // is told what came of each addition
}

// NewScaler makes a scaler of a group with one member.
func NewScaler[M comparable](group Group[M], s Scaling) *Scaler[M] {
	return &Scaler[M]{
		group: group, look: s.Look, after: s.Idle, report: s.Report, grows: len(s.Sizes) > 0, wanted: NewWakeup(),
		open: slices.Clone(s.Sizes), idle: map[M]time.Time{},
	}
}

// Call asks for one more member. It never waits: a call that comes to nothing is made again at the next look. A nil
// scaler hears nothing.
func (s *Scaler[M]) Call() {
	if s != nil && s.grows {
		s.wanted.Wake()
	}
}

// Run adds and removes members until ctx ends.
func (s *Scaler[M]) Run(ctx context.Context) {
	look := time.NewTicker(s.look)
	defer look.Stop()
	var failures backoff.Failures
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			s.removeIdle(ctx, time.Now())
			if !slices.ContainsFunc(s.group.Members(), func(m M) bool { return !s.group.Full(m) }) {
				s.Call() // full members do not fetch, so they call nobody
			}
		case <-s.wanted:
			err := s.add(ctx)
			if ctx.Err() != nil {
				return
			}
			s.report(err)
			if err == nil {
				failures = 0
				continue
			}
			failures.Pause(ctx)
		}
	}
}

// add starts one more member, if there may be one.
func (s *Scaler[M]) add(ctx context.Context) error {
	if len(s.open) == 0 {
		return nil
	}
	added, err := s.group.Add(ctx, s.open[0])
	if added {
		s.open = s.open[1:]
	}
	return err
}

// removeIdle removes the members that have been idle for a while. One that may go is retired first: a fetch may be
// under way, and whether it brought work is seen at the next look.
func (s *Scaler[M]) removeIdle(ctx context.Context, now time.Time) {
	for _, m := range s.group.Members()[1:] {
		since, seen := s.idle[m]
		switch {
		case s.group.Busy(m):
			delete(s.idle, m)
			s.group.Retire(m, false)
		case !seen:
			s.idle[m] = now
		case now.Sub(since) < s.after, s.group.Retire(m, true):
		default:
			if size, removed := s.group.Remove(m); removed {
				delete(s.idle, m)
				s.open = append(s.open, size)
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}
