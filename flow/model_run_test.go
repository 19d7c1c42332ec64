package flow_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// modelRounds is how many random flows are run on each kind of Redis; FLOW_ROUNDS gives another number.
func modelRounds() int {
	if n, err := strconv.Atoi(os.Getenv("FLOW_ROUNDS")); err == nil {
		return n
	}
	return 3
}

// machine drives the scripts of a flow as workers, operators and daemons do, beside the model of it.
type machine struct {
	*kit
	*model
	r       *rand.Rand
	store   *rdb.Store
	hand    *inspect.Inspector
	worker  *rdb.Worker
	fetches int64
	held    map[string]rdb.FetchedJob // by id
	living  map[string]bool           // in a queue or held, whatever the flow knows of them
	byHand  map[string]bool           // living ones that were retried from the morgue
	others  map[string]bool           // jobs beside the flow that have the lock of a member, by the id of that
	came    map[string]bool           // members of which the time has come
	last    redisconn.Call            // the last settlement, which may be sent again
	ends    map[string][]string       // of each flow, as calls that were answered have told them
	unheard bool                      // a program has died, and what its last call would have told is not known
	trace   []string
}

// TestFlowsDoWhatTheRulesSay runs random flows, which may have others in them, with failures, deaths, cancellations,
// pauses, retries, lost replies, calls that are sent twice and programs that die, and compares what is stored with a
// plain interpreter after each step.
func TestFlowsDoWhatTheRulesSay(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		for seed := range modelRounds() {
			if !t.Run(strconv.Itoa(seed), func(t *testing.T) { runModel(t, s, uint64(seed)) }) {
				return
			}
		}
	})
}

func runModel(t *testing.T, s redistest.Server, seed uint64) {
	k, r := newKit(t, s), rand.New(rand.NewPCG(seed, 1))
	f, m := randomFlow(r)
	d := &machine{kit: k, model: m, r: r, store: pooltest.StoreOf(k.Enq), hand: k.Inspector(),
		held: map[string]rdb.FetchedJob{}, living: map[string]bool{}, byHand: map[string]bool{},
		ends: map[string][]string{}, others: map[string]bool{}, came: map[string]bool{}}
	d.store.TellFlows(d.tells)
	inside.Inspector(d.hand).Store.TellFlows(d.tells)
	defer func() {
		if t.Failed() {
			t.Log(strings.Join(d.trace, "\n"))
		}
	}()
	if r.IntN(4) > 0 {
		k.stored(f)
	} else {
		d.model = d.batch()
	}
	d.worker = d.store.Worker("w")
	_, _, err := d.worker.Register(k.Ctx(), rdb.Registration{Life: time.Hour, Epoch: "e",
		Queues: []string{"q0", "q1", "q2"}})
	require.NoError(t, err)
	d.settleDown()
	for range 60 {
		d.step()
		d.settleDown()
	}
	d.complete()
}

// batch stores a batch of up to 9 members, and returns the model of it.
func (d *machine) batch() *model {
	m := newModel("f")
	m.specialOrNot(d.r)
	var entries []work.Entry
	for n := range 1 + d.r.IntN(9) {
		name := strconv.Itoa(n + 1)
		member := m.add(name)
		member.queue, member.modelTerms = fmt.Sprintf("q%d", d.r.IntN(3)), m.terms()
		entries = append(entries, member.entry("f/"+name))
	}
	ends := []flow.BatchOption{flow.OnDone("end", "done"), flow.OnDeath("end", "dead")}
	_, err := flow.Batch(d.Ctx(), d.Enq, "f", slices.Values(entries), ends...)
	require.NoError(d.T, err)
	m.free()
	return m
}

// step does something at random. Now and then no daemon does anything between some steps of workers.
func (d *machine) step() {
	if len(d.all()) > 1 {
		for !d.again() && d.r.IntN(3) == 0 {
			d.stepOfWorker(d.r.IntN(12))
		}
		d.settleDown()
	}
	d.stepOfWorker(d.r.IntN(16))
}

// again tells whether something runs again by itself whose end has counted: what it does then counts while its flow
// goes on, so that it depends on the daemons whether it does.
func (d *machine) again() bool {
	return len(d.byHand) > 0 || slices.ContainsFunc(d.all(), func(m *model) bool {
		return m.outer != nil && m.state == "running" && m.outer.members[m.name].state != "lives"
	})
}

func (d *machine) stepOfWorker(n int) {
	switch n {
	case 0, 1, 2, 3:
		d.fetch()
	case 4, 5, 6, 7, 8:
		d.end([]string{"done", "done", "done", "dead", "discarded", "cancelled"}[d.r.IntN(6)])
	case 9:
		d.resend()
	case 10, 11:
		d.endTogether()
	case 12:
		d.retryByHand()
	case 13:
		d.control()
	case 14:
		d.other()
	case 15:
		d.comes()
	}
}

func (d *machine) note(format string, args ...any) {
	d.trace = append(d.trace, fmt.Sprintf(format, args...))
}

// fetch has the worker take some jobs.
func (d *machine) fetch() {
	d.fetches++
	fetched, err := d.worker.Fetch(d.Ctx(), d.fetches, 3, true,
		[]rdb.Share{{Queue: "q0", Jobs: 1}, {Queue: "q1", Jobs: 1}, {Queue: "q2", Jobs: 1}})
	require.NoError(d.T, err)
	for _, job := range fetched.Jobs {
		d.note("fetch %s", job.ID)
		require.NotContains(d.T, d.held, job.ID)
		d.held[job.ID] = job
	}
}

// someHeld is a member that the worker holds.
func (d *machine) someHeld() (string, bool) {
	names := slices.Sorted(maps.Keys(d.held))
	if len(names) == 0 {
		return "", false
	}
	return names[d.r.IntN(len(names))], true
}

// end settles a job that is held. What it knows of queues may lack some, as it does where there are many.
func (d *machine) end(how string) {
	name, found := d.someHeld()
	if !found {
		return
	}
	job := d.held[name]
	rec, err := record.Decode(job.Record)
	require.NoError(d.T, err)
	b := ending.BelongingsIn(job.Record, nil)
	b.Flow.Queues = b.Flow.Queues[:d.r.IntN(len(rec.Next)+1)]
	if how == "cancelled" {
		_, err := d.store.Cancel(d.Ctx(), []string{job.ID})
		require.NoError(d.T, err)
	}
	call := d.worker.End(job.Claim, rdb.Ending{ID: job.ID, Queue: job.Queue, State: how, Belongings: b})
	if how == "dead" {
		call = d.worker.Shelve(rdb.Shelved{Claim: job.Claim, Shelf: rdb.ShelfMorgue, Flow: b.Flow,
			Keyed: rec.Key != "", Lock: map[string]string{"f": rec.Lock}[rec.LockKind]})
	}
	d.note("end %s %s", name, how)
	answer := d.settle(call)
	if len(answer.Cancelled) > 0 { // somebody has cancelled it, which it learns now
		how = "cancelled"
		call = d.worker.End(job.Claim, rdb.Ending{ID: job.ID, Queue: job.Queue, State: how, Belongings: b})
		answer = d.settle(call)
	}
	require.Empty(d.T, answer.Gone)
	if d.r.IntN(3) == 0 { // the reply was lost
		require.NotEmpty(d.T, d.settle(call).Gone)
	}
	d.last = call
	delete(d.held, name)
	d.over(name, how)
}

// endTogether settles some of what is held by one call. Those that somebody has cancelled learn it, and end alone.
func (d *machine) endTogether() {
	var together []rdb.Ended
	names := map[string]string{} // by element
	for _, name := range slices.Sorted(maps.Keys(d.held)) {
		if d.r.IntN(4) == 0 || d.member(name).lock != "" { // who has a lock ends by itself
			continue
		}
		job := d.held[name]
		b := ending.BelongingsIn(job.Record, nil)
		b.Flow.Queues = b.Flow.Queues[:d.r.IntN(len(b.Flow.Queues)+1)]
		b.Flow.Result = []byte(`"` + name + `"`)
		state := []string{"done", "done", "done", "discarded", "expired"}[d.r.IntN(5)]
		together = append(together, rdb.Ended{Claim: job.Claim, ID: job.ID, State: state, Flow: b.Flow,
			Keyed: d.member(name).key != ""})
		names[job.Element] = name
	}
	if len(together) == 0 {
		return
	}
	call := d.worker.Complete(together)
	answer := d.settle(call)
	require.Empty(d.T, answer.Gone)
	if d.r.IntN(3) == 0 { // the reply was lost
		require.Len(d.T, d.settle(call).Gone, len(together)-len(answer.Cancelled))
	}
	for _, one := range together {
		if slices.Contains(answer.Cancelled, one.Element) {
			continue
		}
		name := names[one.Element]
		d.note("end %s %s, with others", name, one.State)
		delete(d.held, name)
		d.over(name, one.State)
		if one.State == "done" {
			of, member := d.at(name)
			require.Equal(d.T, `"`+name+`"`, d.Strings("HMGET", "flow.results:"+of.id, member)[0])
		}
	}
}

// over is the end of a member, whoever has ended it.
func (d *machine) over(name, how string) {
	delete(d.living, name)
	delete(d.byHand, name)
	delete(d.came, name)
	of, member := d.at(name)
	of.ended(member, how)
}

func (d *machine) settle(call redisconn.Call) rdb.Settled {
	settled, err := d.worker.Settle(d.Ctx(), []redisconn.Call{call})
	require.NoError(d.T, err)
	require.NoError(d.T, settled[0].Err)
	for _, end := range settled[0].Flows {
		d.tells(end)
	}
	return settled[0]
}

// tells notes that a call has told of the end of a flow.
func (d *machine) tells(end rdb.FlowEnd) {
	for _, of := range d.all() {
		if of.id == end.Flow {
			require.Equal(d.T, len(of.names), end.Members)
		}
	}
	d.ends[end.Flow] = append(d.ends[end.Flow], fmt.Sprint(end.How, " ", end.Generation))
}

// resend sends the last settlement again, long after it has counted.
func (d *machine) resend() {
	if d.last.Script != nil {
		d.note("resend")
		require.NotEmpty(d.T, d.settle(d.last).Gone)
	}
}

// retryByHand takes a member out of the morgue: it runs again, or is deleted.
func (d *machine) retryByHand() {
	dead := d.Strings("ZRANGE", "morgue", 0, -1)
	if len(dead) == 0 {
		return
	}
	name := dead[d.r.IntN(len(dead))]
	if d.r.IntN(4) == 0 {
		d.note("delete %s", name)
		require.NoError(d.T, d.hand.Delete(d.Ctx(), name))
		d.over(name, "deleted")
		return
	}
	d.note("retry %s by hand", name)
	if d.retriedByHand(name, d.hand.RetryNow(d.Ctx(), name)) {
		d.living[name], d.byHand[name], d.came[name] = true, true, true
	}
}

// settleDown has the daemons do what is left, and compares all with the model.
func (d *machine) settleDown() {
	d.advanced()
	for _, id := range d.jobs("lives") {
		d.living[id] = true
	}
	for _, m := range d.all() {
		d.compare(m)
	}
	stored := d.waiting()
	stored = append(stored, slices.Sorted(maps.Keys(d.held))...)
	slices.Sort(stored)
	require.Equal(d.T, slices.Sorted(maps.Keys(d.living)), stored, "in a queue or held, each once")
	require.Equal(d.T, slices.Sorted(slices.Values(d.said.endings)), d.ranAtTheEnd())
	d.checkLocks()
	d.heard()
}

// compare compares one flow with its model.
func (d *machine) compare(m *model) {
	p, err := flow.Read(d.Ctx(), d.Enq, m.id)
	require.NoError(d.T, err)
	cancelled := []string{"cancelled"}
	if m.state == "cancelled" { // of one that never began nothing is left
		cancelled = append(cancelled, "waits", "lives")
	}
	require.Equal(d.T, []any{m.id, m.state, m.paused && m.state == "running", m.count("done"), m.count("dead"),
		m.count(cancelled...), m.count("discarded", "expired", "deleted"), m.generation},
		[]any{m.id, string(p.State), p.Paused && p.State == flow.Running, p.Done, p.Dead, p.Cancelled, p.Otherwise,
			p.Generation}, "state, paused, done, dead, cancelled, otherwise, generation")
}

// ranAtTheEnd are the ids of what was put into a queue at the ends.
func (d *machine) ranAtTheEnd() []string {
	return slices.Sorted(slices.Values(d.Strings("LRANGE", "queue:end", 0, -1)))
}

// complete runs what is left, until the flow has ended.
func (d *machine) complete() {
	ctx, cancel := context.WithTimeout(d.Ctx(), pooltest.Patience)
	defer cancel()
	for d.state == "running" {
		require.NoError(d.T, ctx.Err())
		for _, m := range d.all() {
			if m.state == "running" && m.paused {
				d.setPaused(m, false)
			}
		}
		d.settleDown()
		d.noOthers()
		d.comes()
		d.fetch()
		for len(d.held) > 0 {
			d.end("done")
			d.settleDown()
		}
		if d.state == "running" && len(d.living) == 0 { // somebody holds on for one that is dead
			d.retryByHand()
			if m := d.some(); m != d.model && m.retriable() {
				d.retryAll(m)
			}
		}
		d.settleDown()
	}
}
