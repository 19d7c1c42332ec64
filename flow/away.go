package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/record"
)

// A member whose name, key or lock lives in another partition than its flow is kept there, and named in the flow. First
// the flow names it, so that whoever removes the flow finds it; then it is lodged there, with its lock; then the flow
// is sealed. An added one is lodged before it is named, since its turn may come with that.

// lodged makes a member as it is kept where it is at home, if that is in another partition than its flow.
func lodged(enq *work.Enqueuer, at spot, entry work.Entry) func() (flowdb.Member, error) {
	return func() (flowdb.Member, error) {
		id := at.flow + "/" + at.name
		m, err := prepare(enq, id+"/"+flowdb.LodgedJob, entry, func(r *record.Record) {
			r.Flow, r.Leaf = id, true
		})
		m.Name = at.name
		return m, err
	}
}

// maxLodged is how many members are lodged in one request.
const maxLodged = 100

// lodge stores those of the members that are at home elsewhere. Where one is, is decided by the flow: it may have been
// named by somebody who knew another map.
func (s *storing) lodge(ctx context.Context, members []flowdb.Member) error {
	var names []string
	for i := range members {
		if members[i].Away {
			names = append(names, members[i].Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	var filled flowdb.Filled
	err := answered(ctx, func(ctx context.Context) (err error) {
		filled, err = flowdb.Of(s.place.store).Filled(ctx, s.keeping.ID, names)
		return err
	})
	if err != nil {
		return err
	}
	if filled.State == "" {
		return s.refusal(flowdb.Gone, "")
	}
	by, partitions := map[int][]flowdb.Member{}, []int(nil)
	for i := range members {
		m := &members[i]
		at, named := filled.At[m.Name]
		switch {
		case !m.Away:
			continue
		case named:
			m.At = at
		case filled.State == flowdb.IsFilling: // it is here: another call has stored it so
			continue
		}
		made, err := m.Lodged()
		if err == nil {
			err = shareMember(s.place.m, &made)
		}
		if err != nil {
			return err
		}
		if by[m.At] == nil {
			partitions = append(partitions, m.At)
		}
		by[m.At] = append(by[m.At], made)
	}
	for _, at := range partitions {
		of := flowdb.Lodging{Flow: s.keeping.ID, Home: s.place.partition, At: at, Epoch: filled.Epoch,
			Keep: filled.Keep}
		for page := range slices.Chunk(by[at], maxLodged) {
			if err := s.lodgeAt(ctx, of, page); err != nil {
				return err
			}
		}
	}
	return nil
}

// lodgeAt stores members in the partition where they are at home.
func (s *storing) lodgeAt(ctx context.Context, of flowdb.Lodging, members []flowdb.Member) error {
	parts := inside.Enqueuer(s.enq).Partitions
	failed := func(err error) error {
		return fmt.Errorf("flow %s is not stored to its end, so that it runs nothing; call again to complete it: %w",
			brief(of.Flow), &partition.Error{Partition: of.At, Err: err})
	}
	for tries := 0; ; tries++ {
		there := place{store: parts.Guarded(of.At).AtMap(s.place.m.Version), m: s.place.m, partition: of.At}
		if !s.written[of.At] {
			if err := writeLayout(ctx, &there, rdb.AwayMembers); err != nil {
				return failed(err)
			}
			if s.written == nil {
				s.written = map[int]bool{}
			}
			s.written[of.At] = true
		}
		var answers []flowdb.Answer
		var details []string
		err := answered(ctx, func(ctx context.Context) (err error) {
			answers, details, err = flowdb.Of(there.store).Lodge(ctx, of, members)
			return err
		})
		if newer := new(rdb.RouteError); errors.As(err, &newer) && tries < maxLodgeTries {
			if err := answered(ctx, parts.Refresh); err != nil {
				return failed(err)
			}
			s.place.m = parts.Map()
			continue
		}
		if err != nil {
			return failed(err)
		}
		again, err := s.lodgedAs(ctx, of, members, answers, details)
		if err == nil && !again {
			return s.refer(ctx, referring{&there, of.Flow, "/" + flowdb.LodgedJob, members})
		}
		if err != nil {
			return err
		}
		if tries == maxLodgeTries {
			return failed(errStays)
		}
	}
}

// maxLodgeTries is how often members are lodged once more, where the map has changed or others were in the way.
const maxLodgeTries = 5

// errStays says that what is left of an earlier flow does not go.
var errStays = errors.New("a member of an earlier flow of that id is there still, and runs")

// lodgedAs tells what came of lodging members: whether it is to be done again, as what was in the way is gone now.
func (s *storing) lodgedAs(ctx context.Context, of flowdb.Lodging, members []flowdb.Member, answers []flowdb.Answer,
	details []string) (again bool, err error) {
	for i, answer := range answers {
		switch answer {
		case flowdb.Locked:
			_, holder, _ := strings.Cut(details[i], " ")
			return false, &LockError{Flow: of.Flow, Member: members[i].Name, Holder: holder}
		case flowdb.Living:
			return false, s.refusal(answer, details[i])
		case flowdb.Other: // it goes where its flow is gone
			again = true
			err := ending.AgreeAway(ctx, s.place.store, of.Flow+"/"+members[i].Name,
				flowdb.Standing{Away: true, At: of.At})
			if err != nil {
				return false, err
			}
		}
	}
	return again, nil
}

// eachLodged calls do with each of those members of a flow that are at home elsewhere, by its id, and the flow's epoch.
func eachLodged(ctx context.Context, store *rdb.Store, id string, members []string,
	do func(there *rdb.Store, at int, member string, of flowdb.Epoch) error) error {
	away, err := flowdb.Of(store).AwayOf(ctx, id, members)
	if err != nil || len(away) == 0 {
		return err
	}
	filled, err := flowdb.Of(store).Filled(ctx, id, away)
	if err != nil {
		return err
	}
	for _, member := range away {
		there := store.Other(filled.At[member])
		if there == nil {
			continue
		}
		if err := do(there.AtMap(store.At()), filled.At[member], id+"/"+member, filled.Epoch); err != nil {
			return &partition.Error{Partition: filled.At[member], Err: err}
		}
	}
	return nil
}

// reopenAway opens those of some members again that are at home elsewhere: they are held until their turn comes.
func (r reopening) reopenAway(ctx context.Context, id string, members []string) error {
	return eachLodged(ctx, r.store, id, members, func(there *rdb.Store, at int, member string, of flowdb.Epoch) error {
		report, err := flowdb.Of(there).Order(ctx, member, flowdb.Order{Word: flowdb.OrderHold, Epoch: of})
		if err != nil || report.State == flowdb.IsGone {
			return err
		}
		_, err = reopening{there, r.away(there, at), r.away}.open(ctx, member, flowdb.ReopenHold)
		return err
	})
}

// staysOpen refuses to retry a flow that has members in a partition which is being given up.
func staysOpen(ctx context.Context, p *place, id string) error {
	if p.m.Single() {
		return nil
	}
	flows := flowdb.Of(p.store)
	err := flows.EachAway(ctx, id, func(members []string) error {
		stand, err := flows.Stand(ctx, members...)
		if err != nil {
			return err
		}
		for i, at := range stand {
			if at.Away && p.m.State(at.At) != partition.Open {
				_, name := flowdb.OuterOf(members[i])
				return mistake("flow "+brief(id),
					fmt.Sprintf("one whose member %s is in partition %d, which is being given up", brief(name), at.At),
					"enqueue another one: it would not run there")
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flows.EachInner(ctx, id, func(inner string) error { return staysOpen(ctx, p, inner) })
}
