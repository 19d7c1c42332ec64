package inspect

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
)

// QueueNeeds are the jobs of a name that need the same labels: see work.Needs. They wait in an order of their own.
type QueueNeeds struct {
	Labels  []string  `json:"labels"`
	Waiting int       `json:"waiting"`
	Oldest  time.Time `json:"oldest,omitzero"` // as that of QueueInfo
	Running int       `json:"running"`
	Workers int       `json:"workers"`       // with a heartbeat, that serve them. With 0 what waits will wait on
	Hung    int       `json:"hung,omitzero"` // as QueueInfo.Hung
}

// needsOf are what there is of a queue of jobs that need labels.
func needsOf(part *QueueInfo) QueueNeeds {
	return QueueNeeds{Labels: needs.Of(part.Name), Waiting: part.Waiting, Oldest: part.Oldest, Running: part.Running,
		Workers: part.Workers, Hung: part.Hung}
}

func (q *QueueNeeds) add(one *QueueNeeds) {
	q.Waiting, q.Running, q.Workers = q.Waiting+one.Waiting, q.Running+one.Running, q.Workers+one.Workers
	q.Oldest, q.Hung = earlier(q.Oldest, one.Oldest), q.Hung+one.Hung
}

// addNeeds adds what another partition has of such queues, or another queue.
func (q *QueueInfo) addNeeds(all []QueueNeeds) {
	for n := range all {
		at, there := slices.BinarySearchFunc(q.Needs, all[n].Labels, func(one QueueNeeds, labels []string) int {
			return slices.Compare(one.Labels, labels)
		})
		if there {
			q.Needs[at].add(&all[n])
		} else {
			q.Needs = slices.Insert(q.Needs, at, all[n])
		}
	}
}

// byName makes one of the queues of each name. Those with jobs that need labels are told of if there are such jobs.
func byName(queues []QueueInfo) []QueueInfo {
	infos := make([]QueueInfo, 0, len(queues))
	at := make(map[string]int, len(queues))
	for n := range queues {
		one := &queues[n]
		name := needs.Name(one.Name)
		if _, known := at[name]; !known {
			at[name], infos = len(infos), append(infos, QueueInfo{Name: name})
		}
		info := &infos[at[name]]
		if part := needsOf(one); len(part.Labels) > 0 {
			if part.Waiting+part.Running > 0 {
				info.addNeeds([]QueueNeeds{part})
			}
			one.Workers, one.Hung = 0, 0 // they serve the name as well
		}
		info.add(one)
	}
	slices.SortFunc(infos, func(a, b QueueInfo) int { return strings.Compare(a.Name, b.Name) })
	return infos
}

// queuesSeen are when the queues of a name were last seen, whatever their jobs need. There are none where nothing is
// known of the name.
func queuesSeen(ctx context.Context, store *rdb.Store, name string) (map[string]time.Time, error) {
	seen, err := store.QueueNames(ctx)
	maps.DeleteFunc(seen, func(queue string, _ time.Time) bool { return needs.Name(queue) != name })
	return seen, err
}
