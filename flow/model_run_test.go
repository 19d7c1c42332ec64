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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// modelRounds is how many random flows are run on each kind of Redis; FLOW_ROUNDS gives another number.
func modelRounds() int {
	if n, err := strconv.Atoi(os.Getenv("FLOW_ROUNDS")); err == nil {
		return n
	}
	return 25
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
	held    map[string]rdb.FetchedJob // by member
	living  map[string]bool           // in a queue or held, whatever the flow knows of them
	byHand  map[string]bool           // living ones that were retried from the morgue
	last    redisconn.Call            // the last settlement, which may be sent again
	ends    []string                  // of the flow, as calls that were answered have told them
	trace   []string
}

// TestFlowsDoWhatTheRulesSay runs random flows with failures, deaths, cancellations, pauses, retries, lost replies and
// calls that are sent twice, and compares what is stored with a plain interpreter after each step.
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
		held: map[string]rdb.FetchedJob{}, living: map[string]bool{}, byHand: map[string]bool{}}
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
	assert.Equal(t, d.endings, d.ranAtTheEnd())
}

// batch stores a batch of up to 9 members, and returns the model of it.
func (d *machine) batch() *model {
	m := &model{members: map[string]*modelMember{}, unmet: map[string]map[string]bool{}, state: "running",
		generation: 1}
	var entries []work.Entry
	for n := range 1 + d.r.IntN(9) {
		name := strconv.Itoa(n + 1)
		m.names = append(m.names, name)
		m.members[name], m.unmet[name] = &modelMember{state: "waits"}, map[string]bool{}
		entries = append(entries, work.Entry{Name: fmt.Sprintf("q%d", d.r.IntN(3))})
	}
	ends := []flow.BatchOption{flow.OnDone("end", "done"), flow.OnDeath("end", "dead")}
	_, err := flow.Batch(d.Ctx(), d.Enq, "f", slices.Values(entries), ends...)
	require.NoError(d.T, err)
	m.free()
	return m
}

// step does something at random.
func (d *machine) step() {
	switch d.r.IntN(14) {
	case 0, 1, 2, 3:
		d.fetch()
	case 4, 5, 6, 7, 8:
		d.end([]string{"done", "done", "done", "dead", "discarded", "cancelled"}[d.r.IntN(6)])
	case 9:
		d.retryByHand()
	case 10:
		d.control()
	case 11:
		d.resend()
	case 12, 13:
		d.endTogether()
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
		name := strings.TrimPrefix(job.ID, "f/")
		d.note("fetch %s", name)
		require.NotContains(d.T, d.held, name)
		d.held[name] = job
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
		call = d.worker.Shelve(rdb.Shelved{Claim: job.Claim, Shelf: rdb.ShelfMorgue, Flow: b.Flow})
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
		if d.r.IntN(4) == 0 {
			continue
		}
		job := d.held[name]
		b := ending.BelongingsIn(job.Record, nil)
		b.Flow.Queues = b.Flow.Queues[:d.r.IntN(len(b.Flow.Queues)+1)]
		b.Flow.Result = []byte(`"` + name + `"`)
		state := []string{"done", "done", "done", "discarded", "expired"}[d.r.IntN(5)]
		together = append(together, rdb.Ended{Claim: job.Claim, ID: job.ID, State: state, Flow: b.Flow})
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
			require.Equal(d.T, `"`+name+`"`, d.Strings("HMGET", "flow.results:f", name)[0])
		}
	}
}

// over is the end of a member, whoever has ended it.
func (d *machine) over(name, how string) {
	delete(d.living, name)
	delete(d.byHand, name)
	d.model.ended(name, how)
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

// tells notes that a call has told of the end of the flow.
func (d *machine) tells(end rdb.FlowEnd) {
	require.Equal(d.T, "f", end.Flow)
	require.Equal(d.T, len(d.names), end.Members)
	d.ends = append(d.ends, fmt.Sprint(end.How, " ", end.Generation))
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
	id := dead[d.r.IntN(len(dead))]
	name := strings.TrimPrefix(id, "f/")
	if d.r.IntN(4) == 0 {
		d.note("delete %s", id)
		require.NoError(d.T, d.hand.Delete(d.Ctx(), id))
		d.over(name, "deleted")
		return
	}
	d.note("retry %s by hand", id)
	require.NoError(d.T, d.hand.RetryNow(d.Ctx(), id))
	d.living[name], d.byHand[name] = true, true
}

// control does something to the whole flow, or cancels one member.
func (d *machine) control() {
	switch d.r.IntN(6) {
	case 0, 1:
		id := "f/" + d.names[d.r.IntN(len(d.names))]
		d.note("cancel %s", id)
		d.cancelled(ending.Cancel(d.Ctx(), d.store, []string{id}))
	case 2:
		d.note("pause")
		d.setPaused(d.r.IntN(2) == 0)
	case 3, 4:
		d.retryAll()
	case 5:
		d.cancelFlow()
	}
}

// cancelled notes which jobs were cancelled where they waited in their queues.
func (d *machine) cancelled(results []ending.Cancellation, err error) {
	require.NoError(d.T, err)
	for _, result := range results {
		name := strings.TrimPrefix(result.ID, "f/")
		if result.Effect == ending.Ended && d.living[name] {
			d.over(name, "cancelled")
		}
	}
}

func (d *machine) setPaused(pause bool) {
	_, err := flowdb.Of(d.store).Pause(d.Ctx(), "f", pause)
	require.NoError(d.T, err)
	d.pause(pause)
}

// retryAll retries the flow, and is cut off now and then.
func (d *machine) retryAll() {
	if d.state == "running" || d.state == "done" {
		return
	}
	d.note("retry the flow")
	if d.r.IntN(2) == 0 {
		_, err := flowdb.Of(d.store).Reopen(d.Ctx(), "f", flowdb.ReopenBegin, nil)
		require.NoError(d.T, err)
		_, err = flowdb.Of(d.store).Reopen(d.Ctx(), "f", flowdb.ReopenBack, d.names[:d.r.IntN(len(d.names)+1)])
		require.NoError(d.T, err)
	}
	_, err := flow.Retry(d.Ctx(), d.Enq, "f")
	require.NoError(d.T, err)
	require.True(d.T, d.retry(d.byHand))
}

// cancelFlow cancels the flow; now and then whoever does so dies after the first call, and the daemons go on.
func (d *machine) cancelFlow() {
	if d.state != "running" || d.r.IntN(3) > 0 {
		return
	}
	d.note("cancel the flow")
	var err error
	if d.r.IntN(2) == 0 {
		_, err = flowdb.Of(d.store).Cancel(d.Ctx(), "f", nil, false)
	} else {
		_, err = flow.Cancel(d.Ctx(), d.Enq, "f")
	}
	require.NoError(d.T, err)
	d.cancelAll()
	require.NoError(d.T, maintain.AdvanceFlows(d.Ctx(), d.store))
	for name := range maps.Clone(d.living) { // those in queues have ended; those that are held will
		if _, held := d.held[name]; !held && d.Number("HEXISTS", "jobs", "f/"+name) == 0 {
			d.over(name, "cancelled")
		}
	}
}

// settleDown has the daemons do what is left, and compares all with the model.
func (d *machine) settleDown() {
	require.NoError(d.T, maintain.AdvanceFlows(d.Ctx(), d.store))
	p, err := flow.Read(d.Ctx(), d.Enq, "f")
	require.NoError(d.T, err)
	for _, name := range d.in("lives") {
		d.living[name] = true
	}
	require.Equal(d.T, d.state, string(p.State))
	require.Equal(d.T, len(d.in("done")), p.Done, "done")
	require.Equal(d.T, len(d.in("dead")), p.Dead, "dead")
	require.Equal(d.T, len(d.in("cancelled")), p.Cancelled, "cancelled")
	require.Equal(d.T, len(d.in("discarded"))+len(d.in("expired"))+len(d.in("deleted")), p.Otherwise, "otherwise")
	var stored []string
	for _, queue := range []string{"q0", "q1", "q2"} {
		for _, id := range d.Strings("LRANGE", "queue:"+queue, 0, -1) {
			stored = append(stored, strings.TrimPrefix(id, "f/"))
		}
	}
	stored = append(stored, slices.Sorted(maps.Keys(d.held))...)
	slices.Sort(stored)
	require.Equal(d.T, slices.Sorted(maps.Keys(d.living)), stored, "in a queue or held, each once")
	require.Equal(d.T, d.endings, d.ranAtTheEnd())
	require.Equal(d.T, d.told, d.ends, "each end is told once")
	require.Zero(d.T, d.Number("ZCARD", "flows:busy"), "nothing is left to be done")
}

// ranAtTheEnd are the ids of what was put into a queue at the ends, in order.
func (d *machine) ranAtTheEnd() []string {
	ids := d.Strings("LRANGE", "queue:end", 0, -1)
	slices.Reverse(ids)
	if len(ids) == 0 {
		return nil
	}
	return ids
}

// complete runs what is left, until the flow has ended.
func (d *machine) complete() {
	ctx, cancel := context.WithTimeout(d.Ctx(), pooltest.Patience)
	defer cancel()
	for d.state == "running" {
		require.NoError(d.T, ctx.Err())
		d.setPaused(false)
		d.fetch()
		for len(d.held) > 0 {
			d.end("done")
			d.settleDown()
		}
		if d.state == "running" && len(d.living) == 0 {
			d.retryByHand() // somebody holds on for it
		}
		d.settleDown()
	}
}
