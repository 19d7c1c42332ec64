package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
)

// queueNames are those of the queues that were there at the beginning, by the numbers under which their ids were noted.
func (d *doctor) queueNames() []string { return slices.Sorted(maps.Keys(d.keys.queues)) }

// checkIndexes compares the sets of queue names with the queues.
func (d *doctor) checkIndexes(ctx context.Context) error {
	all := maps.Clone(d.keys.queues)
	ready, err := d.store.Members(ctx, "ready")
	if err != nil {
		return err
	}
	for _, name := range ready {
		all[name] = true
	}
	names := slices.Sorted(maps.Keys(all))
	for page := range slices.Chunk(names, rdb.MaxBatch/2) {
		if err := d.agreeIndexes(ctx, page); err != nil {
			return err
		}
	}
	return d.checkServed(ctx)
}

// agreeIndexes looks at some queues, and mends only those that need it: what is right keeps its time.
func (d *doctor) agreeIndexes(ctx context.Context, names []string) error {
	served := func(name string) bool { return d.served[name] }
	faults, err := d.look.AgreeIndexes(ctx, names, served, 0)
	wrong := map[string]bool{}
	for _, fault := range faults {
		wrong[fault.ID] = wrong[fault.ID] || fault.What != silentQueue
	}
	if d.repair && err == nil {
		maps.DeleteFunc(wrong, func(_ string, is bool) bool { return !is })
		faults, err = d.mend.AgreeIndexes(ctx, slices.Sorted(maps.Keys(wrong)), served, 0)
	}
	for _, fault := range faults {
		d.findIndex(fault)
	}
	return err
}

// silentQueue is what is said of a queue without a token. It may be about to be fetched from: that is watched.
const silentQueue = "silent"

func (d *doctor) findIndex(fault rdb.Fault) {
	f := Finding{Check: CheckReady, Key: d.store.FullName("ready"), Queue: fault.ID, Repaired: d.repair}
	switch fault.What {
	case "unready":
		f.Detail = "jobs wait in it, and it is not said to be ready"
	case "idle":
		f.Detail, f.Severity = "it is said to be ready, and no job waits in it", SeverityWarning
		if !d.repair {
			f.Remedy = "a repair removes it, as the next fetch does"
		}
	case "unlisted":
		f.Check, f.Key, f.Detail = CheckQueueName, d.store.FullName("queues"),
			"jobs wait in it, and it is not in the list of queues"
	case silentQueue:
		return
	}
	d.find(f)
}

// checkServed reports queues with jobs that nobody serves.
func (d *doctor) checkServed(ctx context.Context) error {
	var names []string
	for _, name := range d.queueNames() {
		if !d.served[name] {
			names = append(names, name)
		}
	}
	for page := range slices.Chunk(names, rdb.MaxBatch) {
		keys := make([]rdb.Key, len(page))
		for i, name := range page {
			keys[i] = rdb.Key{Name: "queue:" + name, Type: "list"}
		}
		sizes, err := d.store.Sizes(ctx, keys)
		if err != nil {
			return err
		}
		for i, name := range page {
			if sizes[i] > 0 {
				d.find(Finding{Check: CheckUnserved, Key: d.store.FullName("queue:" + name), Queue: name,
					Detail: waitingFor(sizes[i], needs.Of(name))})
			}
		}
	}
	return nil
}

func waitingFor(jobs int, labels []string) string {
	where := "serves this name"
	if len(labels) > 0 {
		where += " and has what they need, " + strings.Join(labels, " and ")
	}
	if jobs == 1 {
		return "1 job waits, and no worker " + strings.Replace(where, "they need", "it needs", 1)
	}
	return fmt.Sprintf("%d jobs wait, and no worker %s", jobs, where)
}

// undatedFor is how long an outcome is kept of which it is not known how long it was to be kept.
const undatedFor = 24 * time.Hour

// checkOutcomes compares outcomes with the times until which they are kept.
func (d *doctor) checkOutcomes(ctx context.Context) error {
	for _, name := range []string{"outcomes", "outcomes:until"} {
		err := d.walk(ctx, name, func(page []rdb.Field) error {
			ids := make([]string, len(page))
			for i, field := range page {
				ids[i] = field.Name
			}
			faults, err := d.mend.AgreeOutcomes(ctx, ids, undatedFor)
			for _, fault := range faults {
				f := Finding{Check: CheckOutcome, Key: d.store.FullName("outcomes"), ID: fault.ID, Repaired: d.repair,
					Detail: "nothing says until when this outcome is kept"}
				if fault.What == "empty" {
					f.Key, f.Detail = d.store.FullName("outcomes:until"),
						"this is the time of an outcome that is not there"
				}
				d.find(f)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEnded compares the lists of jobs that have ended with what is kept of these.
func (d *doctor) checkEnded(ctx context.Context) error {
	for _, shelf := range slices.Sorted(maps.Keys(d.keys.past)) {
		state, name, _ := strings.Cut(shelf, ":")
		list, details := "ended:"+shelf, "details:"+shelf
		if d.broken[list] || d.broken[details] {
			continue
		}
		for _, key := range []string{list, details} {
			err := d.walk(ctx, key, func(page []rdb.Field) error {
				ids := make([]string, 0, len(page))
				for _, field := range page {
					if field.Name != "" { // it counts the bytes
						ids = append(ids, field.Name)
					}
				}
				faults, err := d.mend.AgreeDetails(ctx, rdb.EndedShelf{State: state, Name: name}, ids)
				for _, fault := range faults {
					f := Finding{Check: CheckOutcome, Key: d.store.FullName(list), ID: fault.ID, Queue: name,
						Repaired: d.repair, Detail: "it is listed as ended, and nothing is kept of it"}
					if fault.What == "unlisted" {
						f.Key, f.Detail = d.store.FullName(details), "it is kept of a job that is not listed as ended"
					}
					if !d.repair {
						f.Remedy = "a repair removes what is there of it"
					}
					d.find(f)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// laneLife is how long a lane is kept after its last call, unless it is one of an outbox.
const laneLife = 24 * time.Hour

// checkLanes counts the lanes of enqueuers that should have been removed.
func (d *doctor) checkLanes(ctx context.Context) error {
	now, err := d.store.Time(ctx)
	if err != nil {
		return err
	}
	old := map[string]bool{} // some may be met twice
	err = d.walk(ctx, "lanes", func(page []rdb.Field) error {
		for _, field := range page {
			if field.Name == rdb.MapLane {
				continue
			}
			_, rest, _ := strings.Cut(string(field.Value), " ")
			stamp, _, _ := strings.Cut(rest, " ")
			ms, _ := strconv.ParseInt(stamp, 10, 64)
			if now.Sub(time.UnixMilli(ms)) > rdb.LaneLife(field.Name, laneLife)+time.Hour {
				old[field.Name] = true
			}
		}
		return nil
	})
	if err != nil || len(old) == 0 {
		return err
	}
	if d.repair {
		for cursor := ""; cursor != "0"; {
			if cursor, err = d.store.RemoveStaleLanes(ctx, cursor, laneLife); err != nil {
				return err
			}
		}
	}
	d.find(Finding{Check: CheckLane, Key: d.store.FullName("lanes"), Detail: countOf(len(old), "lane") +
		" not used for more than a day", Repaired: d.repair})
	return nil
}

// checkMorgue compares the morgue with its limit, which is an option of the pools: without one it is the default.
func (d *doctor) checkMorgue(ctx context.Context) error {
	sizes, err := d.store.Sizes(ctx, []rdb.Key{{Name: "morgue", Type: "zset"}})
	if err == nil && sizes[0] > d.morgueLimit {
		d.find(Finding{Check: CheckMorgue, Key: d.store.FullName("morgue"),
			Detail: fmt.Sprintf("it holds %d jobs, and should hold %d", sizes[0], d.morgueLimit)})
	}
	return err
}
