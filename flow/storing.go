package flow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/retry"
	"github.com/265d0351/work/objects"
)

// storing is a flow that is being stored.
type storing struct {
	enq     *work.Enqueuer
	fresh   bool   // it can be in no partition yet
	place   *place // nil where it is not known yet, or not any more
	needs   int    // the layout that was asked for there
	keeping flowdb.Keeping
	sealed  bool // somebody has done so, as a part was to be stored

	written map[int]bool // partitions of members that are at home elsewhere, which know the layout
}

// newStoring begins to store a flow.
func newStoring(enq *work.Enqueuer, f *Flow, keeping flowdb.Keeping) *storing {
	keeping.Token = ids.Job(time.Now())
	s := &storing{enq: enq, keeping: keeping, fresh: f.fresh}
	f.fresh = false
	return s
}

// settle finds out where the flow goes that has these members, if that is not known, and which of those live elsewhere.
// Jobs on their way to another partition are waited for.
func (s *storing) settle(ctx context.Context, members []flowdb.Member) error {
	for end := time.Now().Add(patience); ; {
		err := s.settleOnce(ctx, members)
		if !errors.Is(err, errMoving) || time.Now().After(end) || !backoff.Pause(ctx, movingPause) {
			return err
		}
		if err := answered(ctx, inside.Enqueuer(s.enq).Partitions.Refresh); err != nil {
			return err
		}
		s.place.m = inside.Enqueuer(s.enq).Partitions.Map()
		s.place.store = s.place.store.AtMap(s.place.m.Version)
	}
}

func (s *storing) settleOnce(ctx context.Context, members []flowdb.Member) error {
	if s.place == nil {
		p, err := placeFor(ctx, s.enq, s.keeping.ID, s.fresh, members)
		if err != nil {
			return err
		}
		s.place, s.needs = &p, 0
	}
	for i := range members {
		m := &members[i]
		at, err := s.place.homeOf(s.keeping.ID, m)
		if err != nil {
			return err
		}
		m.Away, m.At = at != s.place.partition, at
		if m.Away || m.Queue == "" { // a flow, whose members are here as well
			continue
		}
		if err := shareMember(s.place.m, m); err != nil {
			return err
		}
	}
	return s.need(ctx, neededFor(members))
}

// neededFor is the layout that programs must know which meet these members.
func neededFor(members []flowdb.Member) int {
	needed := rdb.Flows
	for i := range members {
		switch m := &members[i]; {
		case m.Away:
			return rdb.AwayMembers
		case m.Terms.Special():
			needed = rdb.SpecialMembers
		case m.Queue == "":
			needed = max(needed, rdb.InnerFlows)
		}
	}
	return needed
}

// need keeps out programs that do not know a layout, before what they must not meet is there.
func (s *storing) need(ctx context.Context, layout int) error {
	if layout <= s.needs {
		return nil
	}
	err := writeLayout(ctx, s.place, layout)
	if err == nil {
		s.needs = layout
	}
	return err
}

func writeLayout(ctx context.Context, p *place, layout int) error {
	return answered(ctx, func(ctx context.Context) error { return p.store.WriteLayout(ctx, rdb.Layout, layout) })
}

// patience is how long a call is repeated, as that of an enqueue is by default.
const patience = 10 * time.Second

// errPatience is why a call is not repeated any longer.
var errPatience = errors.New("no answer within " + patience.String())

// answered repeats a call until it is answered, or there is no more time.
func answered(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	return retry.Steps{}.UntilAnswered(ctx, call)
}

// part stores a part of the flow. Where the map of the partitions has changed before the first one was stored, it is
// found out anew where that belongs.
func (s *storing) part(ctx context.Context, members []flowdb.Member, edges []flowdb.Edge) error {
	for tries := 0; ; tries++ {
		if err := s.settle(ctx, members); err != nil {
			return err
		}
		var answer flowdb.Answer
		var detail string
		err := answered(ctx, func(ctx context.Context) (err error) {
			answer, detail, err = flowdb.Of(s.place.store).Store(ctx, s.keeping, members, edges)
			return err
		})
		if newer := new(rdb.RouteError); errors.As(err, &newer) {
			s.place = nil
			continue
		}
		if err != nil {
			return fmt.Errorf("flow %s is not stored to its end, so that it runs nothing; call again to complete "+
				"it: %w", brief(s.keeping.ID), err)
		}
		if answer == flowdb.Gone && tries == 0 && !flowdb.IsInner(s.keeping.ID) {
			// its time was over: whoever was removing it may have died
			if _, err := flowdb.Of(s.place.store).Remove(ctx, s.keeping.ID, 0); err != nil {
				return err
			}
			continue
		}
		switch answer {
		case flowdb.Sealed:
			s.sealed = true
			return nil
		case flowdb.Locked:
			return locked(s.keeping.ID, namesOf(members), detail)
		case flowdb.Filling:
			if err := s.refer(ctx, referring{at: s.place, flow: s.keeping.ID, members: members}); err != nil {
				return err
			}
			return s.lodge(ctx, members)
		}
		return s.refusal(answer, detail)
	}
}

// referring are members that refer to objects by their args, where they are kept.
type referring struct {
	at      *place
	flow    string
	behind  string // their names in their ids
	members []flowdb.Member
}

// refer has those objects stay. The collector takes no reference of a member whose flow is known, so it is known by
// then; and no object that was shared just now, so that is soon enough. It may be repeated. One that is gone is an
// *[objects.VanishedError], as with an enqueue.
func (s *storing) refer(ctx context.Context, of referring) error {
	ids := map[string][]string{}
	for i := range of.members {
		if m := &of.members[i]; !m.Away {
			for _, sha := range m.Objects {
				ids[sha] = append(ids[sha], of.flow+"/"+m.Name+of.behind)
			}
		}
	}
	for sha, ids := range ids {
		found, err := of.at.refer(ctx, sha, ids)
		if err == nil && !found && of.at.partition > 0 { // what programs share is in the first one
			if err = inside.Enqueuer(s.enq).Intake.Bring(ctx, of.at.partition, sha); err == nil {
				found, err = of.at.refer(ctx, sha, ids)
			}
		}
		if err == nil && !found {
			err = &objects.VanishedError{Hash: objects.Hash(sha)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refer notes which jobs need an object, and returns whether it is there. As for an enqueue that is so where it is
// noted, wherever its content is.
func (p *place) refer(ctx context.Context, sha string, ids []string) (found bool, err error) {
	err = answered(ctx, func(ctx context.Context) (err error) {
		_, found, err = rdb.Objects{Store: p.store, Elsewhere: true}.Refer(ctx, sha, ids)
		return err
	})
	return found, err
}

// hold seals a flow that is in another one, and has so many members, unless that was done.
func (s *storing) hold(ctx context.Context, count int) error {
	if s.sealed {
		return nil
	}
	var answer flowdb.Answer
	var detail string
	err := answered(ctx, func(ctx context.Context) (err error) {
		answer, detail, err = flowdb.Of(s.place.store).Seal(ctx, s.keeping, count, nil)
		return err
	})
	if err != nil || answer == flowdb.Sealed {
		return err
	}
	return s.refusal(answer, detail)
}

// seal seals the flow, which has so many members.
func (s *storing) seal(ctx context.Context, count int, queues []string) (Receipt, error) {
	receipt := Receipt{ID: s.keeping.ID, Jobs: count}
	if s.sealed {
		return s.duplicate(ctx)
	}
	answer, detail, err := s.sealNoted(ctx, count, queues)
	switch {
	case err != nil:
		return Receipt{}, fmt.Errorf("it is not known whether flow %s is sealed; call again to find out: %w",
			brief(s.keeping.ID), err)
	case answer != flowdb.Sealed:
		return Receipt{}, s.refusal(answer, detail)
	case detail != s.keeping.Token:
		return s.duplicate(ctx)
	}
	inside.Enqueuer(s.enq).Emit(event.FlowStored{Flow: receipt.ID, Jobs: count})
	// What is left of it is done here, while there is time: else by the workers.
	_, _ = flowdb.Of(s.place.store).Finish(ctx, s.keeping.ID)
	return receipt, nil
}

// sealNoted seals the flow, and has the Enqueuer remember it: so it is told should Redis forget it.
func (s *storing) sealNoted(ctx context.Context, count int, queues []string) (answer flowdb.Answer, detail string,
	err error) {
	in, err := inside.Enqueuer(s.enq).Intake.Beside(s.place.partition, intake.AFlow)
	if err != nil {
		return "", "", err
	}
	defer in.End()
	var noted rdb.Noted
	err = answered(ctx, func(ctx context.Context) (err error) {
		answer, detail, noted, err = flowdb.Of(s.place.store).SealNoted(ctx, s.keeping, count,
			sharedBy(s.place.m, queues), in.Call())
		return err
	})
	if err != nil {
		return "", "", err
	}
	stored := ""
	if answer == flowdb.Sealed && detail == s.keeping.Token {
		stored = s.keeping.ID
	}
	in.Answered(noted, stored)
	return answer, detail, nil
}

// duplicate is the receipt of a flow that somebody else has stored.
func (s *storing) duplicate(ctx context.Context) (Receipt, error) {
	var p flowdb.Progress
	err := answered(ctx, func(ctx context.Context) (err error) {
		p, err = flowdb.Of(s.place.store).Progress(ctx, s.keeping.ID)
		return err
	})
	return Receipt{ID: s.keeping.ID, Jobs: p.Total, Duplicate: true}, err
}

// refusal is why a flow is not stored.
func (s *storing) refusal(answer flowdb.Answer, detail string) error {
	what := "flow " + brief(s.keeping.ID)
	switch answer {
	case flowdb.Other:
		return mistake(what, "another one than that whose store was cut off under this id",
			"complete that one, or cancel it first")
	case flowdb.Living:
		return mistake(what, "to have a member of which the id lives already: "+brief(detail),
			"wait until that job has ended, or use another id for the flow")
	case flowdb.Count:
		return mistake(what, "one of which "+detail+" members are stored, another number than was given",
			"give what was given when its store was cut off, or cancel it first")
	case flowdb.Gone:
		return fmt.Errorf("%s was removed while it was stored: call again", what)
	}
	return nil
}
