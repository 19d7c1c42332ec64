package flow

import (
	"cmp"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/record"
)

// shareMember has a member wait, when it may run, in the queue that its name shares with others, if it does: as the map
// says when the member is stored. Where that is another one by then, workers find it all the same.
func shareMember(m *partition.Map, member *flowdb.Member) error {
	if len(m.Queues) == 0 {
		return nil
	}
	r, err := record.Decode(member.Record)
	if err != nil {
		return err
	}
	r.Shared, r.Next = m.QueueOf(r.Name), sharedBy(m, r.Next)
	member.Queue, member.Record = r.Queue(), r.Append(nil)
	return nil
}

// sharedBy are the queues in which jobs of other ones wait, by a map.
func sharedBy(m *partition.Map, queues []string) []string {
	if len(m.Queues) == 0 {
		return queues
	}
	all := make([]string, len(queues))
	for i, queue := range queues {
		name := needs.Name(queue)
		all[i] = needs.Queue(cmp.Or(m.QueueOf(name), name), needs.Of(queue))
	}
	return hints(all, nil)
}
