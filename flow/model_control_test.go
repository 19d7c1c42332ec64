package flow_test

import (
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
)

// some is a flow at random: the outermost one, or one that is in it.
func (d *machine) some() *model {
	if d.r.IntN(3) == 0 {
		return d.model
	}
	all := d.all()
	return all[d.r.IntN(len(all))]
}

// control does something to a whole flow, or cancels one member.
func (d *machine) control() {
	switch d.r.IntN(6) {
	case 0, 1:
		jobs := d.jobs("")
		if len(jobs) == 0 {
			return
		}
		id := jobs[d.r.IntN(len(jobs))]
		d.note("cancel %s", id)
		d.cancelled(ending.Cancel(d.Ctx(), d.store, []string{id}))
	case 2:
		d.setPaused(d.some(), d.r.IntN(2) == 0)
	case 3, 4:
		d.retryAll(d.some())
	case 5:
		d.cancelFlow(d.some())
	}
}

// cancelled notes which jobs were cancelled where they waited in their queues.
func (d *machine) cancelled(results []ending.Cancellation, err error) {
	require.NoError(d.T, err)
	for _, result := range results {
		if result.Effect == ending.Ended && d.living[result.ID] {
			d.over(result.ID, "cancelled")
		}
	}
}

// setPaused pauses a flow, or has it go on.
func (d *machine) setPaused(m *model, pause bool) {
	d.note("pause %s: %v", m.id, pause)
	do := flow.Resume
	if pause {
		do = flow.Pause
	}
	_, err := do(d.Ctx(), d.Enq, m.id)
	require.NoError(d.T, err)
	m.pause(pause)
}

// doomed is an Enqueuer whose program dies after some calls of scripts of flows, and tells of the ends of flows before.
func (d *machine) doomed() (*work.Enqueuer, *dying) {
	driver := &dying{Driver: d.Raw().Driver(), left: d.r.IntN(12), done: d.r.IntN(2) == 0}
	enq := pooltest.EnqueuerOn(driver, d.Namespace)
	inside.Enqueuer(enq).Store.TellFlows(d.tells)
	return enq, driver
}

// retryAll retries a flow, and is cut off now and then.
func (d *machine) retryAll(m *model) {
	if m.state == "running" || m.state == "done" || !m.retriable() {
		if m.state != "done" {
			_, err := flow.Retry(d.Ctx(), d.Enq, m.id)
			require.Error(d.T, err, "retry %s", m.id)
		}
		return
	}
	d.note("retry %s", m.id)
	d.retryLocked(m)
	enq, driver := d.Enq, (*dying)(nil)
	if d.r.IntN(2) == 0 {
		enq, driver = d.doomed()
	}
	_, err := flow.Retry(d.Ctx(), enq, m.id)
	if driver != nil && driver.dead {
		d.note("cut off")
		d.unheard = driver.done
		d.advanced()
		if slices.Contains([]flow.State{flow.Reopening, flow.DeadEnded, flow.Cancelled}, d.stateOf(m.id)) {
			_, err = flow.Retry(d.Ctx(), d.Enq, m.id)
			require.NoError(d.T, err)
		}
	} else {
		require.NoError(d.T, err)
	}
	require.True(d.T, m.retry(d.byHand))
}

// cancelFlow cancels a flow; now and then whoever does so dies at some call, and the daemons go on.
func (d *machine) cancelFlow(m *model) {
	if m.state != "running" && m.state != "held" || d.r.IntN(3) > 0 {
		return
	}
	d.note("cancel %s", m.id)
	enq, driver := d.Enq, (*dying)(nil)
	if d.r.IntN(2) == 0 {
		enq, driver = d.doomed()
	}
	_, err := flow.Cancel(d.Ctx(), enq, m.id)
	if driver != nil && driver.dead {
		d.note("cut off")
		d.unheard = driver.done
		d.advanced()
		if p, err := flow.Read(d.Ctx(), d.Enq, m.id); err == nil && !p.Cancelling && !p.State.Ended() {
			_, err = flow.Cancel(d.Ctx(), d.Enq, m.id) // Redis did not hear of it
			require.NoError(d.T, err)
		}
	} else {
		require.NoError(d.T, err)
	}
	m.cancelAll()
	d.advanced()
	for name := range maps.Clone(d.living) { // those in queues have ended; those that are held will
		if _, held := d.held[name]; !held && d.Number("HEXISTS", "jobs", name) == 0 {
			d.over(name, "cancelled")
		}
	}
}

// heard compares what was told of the ends with what the model says. Of the call at which a program died nobody heard.
func (d *machine) heard() {
	if d.unheard {
		for id, ends := range d.said.told {
			if heard := d.ends[id]; len(heard) == len(ends)-1 {
				d.ends[id] = append(heard, ends[len(heard)])
			}
		}
	}
	d.unheard = false
	require.Equal(d.T, d.said.told, d.ends, "each end is told once")
}

// advanced has the daemons do what is left.
func (d *machine) advanced() {
	for rounds := 0; rounds == 0 || d.Number("ZCARD", "flows:busy") > 0; rounds++ {
		require.Less(d.T, rounds, 20, "something is left to be done: %v", d.Strings("ZRANGE", "flows:busy", 0, -1))
		require.NoError(d.T, maintain.AdvanceFlows(d.Ctx(), d.store))
	}
}
