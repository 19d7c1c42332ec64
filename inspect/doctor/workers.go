package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/deadworker"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/hung"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rights"
)

// readWorkers reads who is registered, and what they serve. The keys were read before: a worker whose keys were there
// and who is in neither set now is unknown, since no key of a worker outlives its place in one of them.
func (d *doctor) readWorkers(ctx context.Context) error {
	registered, dead, err := d.store.Workers(ctx)
	if err != nil {
		return err
	}
	d.registered, d.dead, d.served = toSet(registered), toSet(dead), map[string]bool{}
	d.diagnosis.Workers = len(registered)
	for _, id := range registered {
		if d.broken["worker:"+id+":queues"] {
			continue
		}
		names, err := d.store.Members(ctx, "worker:"+id+":queues")
		if err != nil {
			return err
		}
		for _, name := range names {
			d.served[name] = true
		}
		if len(names) == 0 {
			if err := d.checkDeaf(ctx, id); err != nil {
				return err
			}
		}
		if err := d.checkEndless(ctx, "worker:"+id, id); err != nil {
			return err
		}
	}
	return excerpt.Join(d.checkEndless(ctx, "lease", ""), d.checkEndless(ctx, "deputy", ""),
		d.checkRights(ctx, registered))
}

// checkRights reports workers that fetch nothing since their user lacks rights, as they have noted.
func (d *doctor) checkRights(ctx context.Context, registered []string) error {
	profiles, err := d.store.ProfileOf(ctx, registered)
	if err != nil {
		return err
	}
	for i, id := range registered {
		if refused := profiles[i].Info[rights.Noted]; refused != "" {
			d.find(Finding{Check: CheckRights, ID: id,
				Detail: "this worker fetches nothing: its user of Redis is refused " + refused})
		}
	}
	return nil
}

func toSet(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, item := range list {
		set[item] = true
	}
	return set
}

// checkDeaf reports a worker of which Redis does not know what it serves: no fetch tells it of ready queues. One that
// has left since has no names either, nor has one from which all were withdrawn, which says so.
func (d *doctor) checkDeaf(ctx context.Context, id string) error {
	registered, _, err := d.store.Workers(ctx)
	if err != nil || !slices.Contains(registered, id) {
		return err
	}
	profiles, err := d.store.ProfileOf(ctx, []string{id})
	if err == nil && profiles[0].Info["serves"] != "0" && len(profiles[0].Queues) == 0 {
		d.find(Finding{Check: CheckDeafWorker, Key: d.store.FullName("worker:" + id + ":queues"), ID: id,
			Detail: "this worker is registered without the names that it serves"})
	}
	return err
}

// checkEndless looks at the heartbeat of a worker, at the lease or at the place of its deputy: without a time to live,
// a death is never noticed.
func (d *doctor) checkEndless(ctx context.Context, name, id string) error {
	if d.broken[name] {
		return nil
	}
	life, most := rdb.LeaseLife, noBound // workers see themselves to one that is too long
	if id != "" {
		profiles, err := d.store.ProfileOf(ctx, []string{id})
		if err != nil {
			return err
		}
		if life, most = rdb.BeatLife, noBound; profiles[0].Info["life"] != "" {
			life, most = lifeOf(profiles[0].Info), lifeOf(profiles[0].Info)
		}
	}
	lapses, err := d.mend.LimitLife(ctx, name, life, most)
	if err == nil && lapses != rdb.LifeInBounds {
		what := map[int]string{
			rdb.LifeEndless: "it has no time to live",
			rdb.LifeTooLong: "it stays for longer than it should: Redis' clock was set back",
		}
		d.find(Finding{Check: CheckEndless, Key: d.store.FullName(name), ID: id, Detail: what[lapses],
			Repaired: d.repair})
	}
	return err
}

// noBound is how long what workers shorten by themselves may last.
const noBound = 100 * 365 * 24 * time.Hour

// lifeOf is how long a heartbeat of a worker lasts that says this of itself.
func lifeOf(info map[string]string) time.Duration {
	ms, err := strconv.ParseInt(info["life"], 10, 64)
	if err != nil || ms < rdb.MinBeatLife.Milliseconds() || ms > rdb.MaxBeatLife.Milliseconds() {
		return rdb.BeatLife // an earlier version says nothing
	}
	return time.Duration(ms) * time.Millisecond
}

// checkStrangers removes what is left of workers that nobody knows. Their jobs were given back before.
func (d *doctor) checkStrangers(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(d.keys.workers)) {
		if d.registered[id] || d.dead[id] {
			continue
		}
		n, err := d.mend.RemoveWorker(ctx, id)
		if err != nil {
			return err
		}
		if n > 0 {
			d.find(Finding{Check: CheckUnknownWorker, Severity: SeverityWarning, Key: d.store.FullName("worker:" + id),
				ID:       id,
				Detail:   countOf(n, "key") + " of a worker that is neither registered nor being taken apart",
				Repaired: d.repair})
		}
	}
	return nil
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// watch looks again and again at what a healthy fleet puts in order by itself within seconds, and reports what stays as
// it was: workers without heartbeat, dead ones that nobody takes apart, queues that call nobody.
func (d *doctor) watch(ctx context.Context) error {
	w := &watched{doctor: d}
	if err := w.begin(ctx); err != nil {
		return err
	}
	const looks = 20
	for range looks {
		if w.nothing() {
			return nil
		}
		backoff.Pause(ctx, d.patience/looks)
		if ctx.Err() != nil {
			return excerpt.Error(context.Cause(ctx))
		}
		if err := w.again(ctx); err != nil {
			return err
		}
	}
	return w.report(ctx)
}

// watched is what seems to be left alone.
type watched struct {
	*doctor
	since  time.Time
	still  map[string]bool           // registered workers without heartbeat
	bodies map[string]bool           // dead workers
	silent map[string]rdb.QueueFront // queues without token
	hung   map[string]int            // by registered worker whose processors all hang: how many that are
}

func (w *watched) begin(ctx context.Context) error {
	w.since = time.Now()
	registered, dead, err := w.store.Workers(ctx)
	if err != nil {
		return err
	}
	w.still, w.bodies, w.silent = toSet(registered), toSet(dead), map[string]rdb.QueueFront{}
	var names []string
	for name := range w.keys.queues {
		if w.served[name] && !w.broken["wake:"+name] {
			names = append(names, name)
		}
	}
	fronts, err := w.store.Fronts(ctx, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		w.silent[name] = fronts[i]
	}
	if w.hung, err = hung.Among(ctx, w.store, registered); err != nil {
		return err
	}
	return w.again(ctx)
}

func (w *watched) nothing() bool { return len(w.still)+len(w.bodies)+len(w.silent)+len(w.hung) == 0 }

// again keeps what is as it was.
func (w *watched) again(ctx context.Context) error {
	registered, dead, err := w.store.Workers(ctx)
	if err != nil {
		return err
	}
	keepOnly(w.still, toSet(registered))
	keepOnly(w.bodies, toSet(dead))
	alive, err := w.store.Alive(ctx, slices.Collect(maps.Keys(w.still)))
	if err != nil {
		return err
	}
	maps.DeleteFunc(w.still, func(id string, _ bool) bool { return alive[id] })
	names := slices.Collect(maps.Keys(w.silent))
	fronts, err := w.store.Fronts(ctx, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		before := w.silent[name]
		if fronts[i] != before || before.Length == 0 || before.Tokens > 0 {
			delete(w.silent, name)
		}
	}
	w.hung, err = hung.Among(ctx, w.store, slices.Collect(maps.Keys(w.hung)))
	return err
}

func keepOnly(set, present map[string]bool) {
	maps.DeleteFunc(set, func(id string, _ bool) bool { return !present[id] })
}

func (w *watched) report(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(w.still)) {
		w.find(Finding{Check: CheckDeadWorker, Key: w.store.FullName("worker:" + id), ID: id,
			Detail: "it is registered, has no heartbeat, and nobody reaped it for " + age(time.Since(w.since))})
	}
	for _, id := range slices.Sorted(maps.Keys(w.bodies)) {
		f := Finding{Check: CheckDeadWorker, Key: w.store.FullName("dead"), ID: id,
			Detail: "it is dead, and nobody took it apart for " + age(time.Since(w.since))}
		if w.repair {
			jobs, err := w.putBackJobs(ctx, id)
			if err != nil {
				return err
			}
			f.Repaired, f.Detail = true, f.Detail+": "+countOf(jobs, "job")+" given back"
		}
		w.find(f)
	}
	if err := w.reportHung(ctx); err != nil {
		return err
	}
	names := slices.Sorted(maps.Keys(w.silent))
	if w.repair && len(names) > 0 {
		if err := w.store.Wake(ctx, names); err != nil {
			return err
		}
	}
	for _, name := range names {
		w.find(Finding{Check: CheckToken, Key: w.store.FullName("wake:" + name), Queue: name, Repaired: w.repair,
			Detail: countOf(w.silent[name].Length, "job") + " waited, and nothing called a worker"})
	}
	return nil
}

// putBackJobs does what a reaper does with a dead worker. Whoever does the same now does no harm.
func (w *watched) putBackJobs(ctx context.Context, id string) (jobs int, err error) {
	dead := &deadworker.Dead{Worker: w.store.Worker(id)}
	deadworker.PutBack(ctx, []*deadworker.Dead{dead}, deadworker.Given{})
	if dead.Err == nil {
		_, dead.Err = dead.Forget(ctx)
	}
	return dead.Jobs, dead.Err
}

// reportHung reports workers whose processors all hang. It names no jobs: only the worker knows which ones hold its
// processors, and with partitions they may be in another partition.
func (w *watched) reportHung(ctx context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(w.hung)) {
		if w.still[id] { // it has no heartbeat, which is a finding already
			continue
		}
		profiles, err := w.store.ProfileOf(ctx, []string{id})
		if err != nil {
			return err
		}
		held, err := w.store.HeldBy(ctx, id, profiles[0].Queues)
		if err != nil {
			return err
		}
		slices.SortFunc(held, func(a, b rdb.Holding) int { return a.Since.Compare(b.Since) })
		holds := "it holds no job of this partition"
		if len(held) > 0 {
			holds = "it holds, the oldest first, " + excerpt.Some(len(held), excerpt.Whole/4, ", ", func(i int) string {
				return excerpt.Brief(held[i].ID) + " (" + needs.Name(held[i].Queue) + ")"
			})
		}
		w.find(Finding{Check: CheckHungWorker, Key: w.store.FullName("worker:" + id + ":info"), ID: id,
			Detail: countOf(w.hung[id], "processor") + ", which is all that it has, for " + age(time.Since(w.since)) +
				": handlers do not return although their time is up; " + holds})
	}
	return nil
}
