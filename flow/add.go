package flow

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
)

// ErrOver is returned by [Add] where the flow has ended or is being cancelled, or the end of the member that adds has
// counted already, so that nothing is added.
var ErrOver = errors.New("the flow is over for it: nothing can be added any more")

// maxAfter is how many members an added one may wait for.
const maxAfter = 100

// Add adds a member to the flow of job, while the handler of job runs: so the flow does not end before it. The name is
// that of the member, and makes the addition the same in another attempt: a member of that name is added once, whatever
// the entry. It has 1 to 80 bytes, at least one of which is no digit. after are names of members that it waits for, at
// most 100; when one of them ends otherwise than done it is cancelled, and at once if one has.
//
// It may be called concurrently. The error is [ErrOver] where nothing can be added any more, and a *[work.InvalidError]
// where a member to wait for is not known; a *[LockError] where the entry is unique and another job of its kind lives.
func Add(ctx context.Context, job *work.Job, name string, entry work.Entry, after ...string) error {
	flow, by, err := partOf(job)
	if err == nil {
		err = checkMember(name)
	}
	switch {
	case err != nil:
		return err
	case strings.HasPrefix(by, "@"):
		return fmt.Errorf("flow %s: %w", brief(flow), ErrOver)
	case strings.Trim(name, "0123456789") == "":
		return mistake("name of member", brief(name), "use one that is no number: members of a batch are numbered")
	case len(after) > maxAfter:
		return mistake("member "+brief(name), fmt.Sprintf("to wait for %d others", len(after)),
			fmt.Sprintf("use at most %d", maxAfter))
	}
	enq := work.EnqueuerFromContext(ctx)
	_, err = pass(ctx, enq, &Storing{Flow: flow, Members: []string{name}}, []work.Entry{entry},
		func(ctx context.Context, entries []work.Entry) (Receipt, error) {
			return Receipt{}, adding{flow: flow, by: by, after: after}.add(ctx, enq, name, entries[0])
		})
	return err
}

// adding is an addition to a flow.
type adding struct {
	flow, by string
	after    []string
}

func (a adding) add(ctx context.Context, enq *work.Enqueuer, name string, entry work.Entry) error {
	flow := a.flow
	m, err := member(enq, spot{flow: flow, name: name}, entry, nil)
	if err == nil {
		err = accepted(ctx, enq, &m)
	}
	if err != nil {
		return err
	}
	p, err := placeOf(ctx, enq, flow)
	if err != nil {
		return err
	}
	s := &storing{enq: enq, place: &p, needs: rdb.Flows, keeping: flowdb.Keeping{ID: flow}}
	members := []flowdb.Member{m}
	if err = s.settle(ctx, members); err == nil {
		err = s.lodge(ctx, members) // before it is named: its turn may come with that
	}
	if err != nil {
		return err
	}
	m = members[0]
	if err := s.refer(ctx, referring{at: &p, flow: flow, members: members}); err != nil {
		return err
	}
	answer, detail, err := a.send(ctx, enq, &p, m)
	if m.Away && err == nil {
		// it begins, or goes again, as the flow does not have it; where that fails the workers do it
		_ = ending.AgreeAway(ctx, p.store, flow+"/"+name, flowdb.Standing{Away: true, At: m.At})
	}
	switch {
	case err != nil:
		return fmt.Errorf("it is not known whether member %s was added to flow %s; add it again: %w", brief(name),
			brief(flow), err)
	case answer == flowdb.Gone:
		return fmt.Errorf("flow %s: %w", brief(flow), ErrNoFlow)
	case answer == flowdb.Over:
		return fmt.Errorf("flow %s: %w", brief(flow), ErrOver)
	case answer == flowdb.Unknown:
		return mistake("member "+brief(name)+" of flow "+brief(flow), "after "+brief(detail)+", which is not known",
			"name members that are there; of a batch those that have not ended")
	case answer == flowdb.Locked:
		return locked(flow, []string{name}, detail)
	case answer == flowdb.Added && m.Terms.Special():
		// What is left of it is done here, while there is time: else by the workers.
		_ = ending.FinishFlow(ctx, p.store, flow)
	case answer == flowdb.Living:
		return mistake("id of member "+brief(name)+" of flow "+brief(flow), "that of another job",
			"use another name")
	}
	return nil
}

// send adds the member, and has the Enqueuer remember it: so it is told should Redis forget it.
func (a adding) send(ctx context.Context, enq *work.Enqueuer, p *place, m flowdb.Member) (answer flowdb.Answer,
	detail string, err error) {
	in, err := inside.Enqueuer(enq).Intake.Beside(p.partition, intake.AMember)
	if err != nil {
		return "", "", err
	}
	defer in.End()
	var noted rdb.Noted
	err = answered(ctx, func(ctx context.Context) (err error) {
		answer, detail, noted, err = flowdb.Of(p.store).AddNoted(ctx,
			flowdb.Addition{Flow: a.flow, By: a.by, Member: m, After: a.after}, in.Call())
		return err
	})
	if err != nil {
		return "", "", err
	}
	added := ""
	if answer == flowdb.Added {
		added = a.flow + "/" + m.Name
	}
	in.Answered(noted, added)
	return answer, detail, nil
}
