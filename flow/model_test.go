package flow_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/265d0351/work/flow"
)

// model is a plain interpreter of the rules of flows: what package flow and the scripts should come to. It is about one
// flow, which may have others in it.
type model struct {
	id         string
	outer      *model // that it is in, by its name there; nil where it is in none
	name       string
	members    map[string]*modelMember
	names      []string
	unmet      map[string]map[string]bool // who waits -> for whom
	todo       []string                   // members that have ended, whose edges are to be looked at
	due        []string                   // members that may run, while the flow is paused
	state      string
	cancel     bool
	paused     bool
	generation int
	said       *modelSaid // of all that are in each other
}

// modelSaid is what flows say.
type modelSaid struct {
	endings []string            // ids of what ran at the ends
	told    map[string][]string // how each has ended, each time

	special *rand.Rand // jobs get terms by it; nil: none has any
}

// modelMember is a member: it waits, lives, or has ended. A job lives in a queue or with a worker, a flow when its turn
// has come.
type modelMember struct {
	state string // waits, lives, or how it has ended
	next  []modelEdge
	inner *model // of a flow
	queue string
	modelTerms
}

type modelEdge struct{ to, rule string }

// newModel is the model of a flow without a member.
func newModel(id string) *model {
	return &model{id: id, members: map[string]*modelMember{}, unmet: map[string]map[string]bool{}, state: "running",
		generation: 1, said: &modelSaid{told: map[string][]string{}}}
}

// add adds a member.
func (m *model) add(name string) *modelMember {
	m.names = append(m.names, name)
	m.members[name], m.unmet[name] = &modelMember{state: "waits"}, map[string]bool{}
	return m.members[name]
}

// in is a flow that is in this one.
func (m *model) in(name string) *model {
	inner := newModel(m.id + "/" + name)
	inner.outer, inner.name, inner.said, inner.state = m, name, m.said, "held"
	m.members[name].inner = inner
	return inner
}

// randomFlow makes a flow of up to 9 members, some of which may be flows, and the model of it.
func randomFlow(r *rand.Rand) (*flow.Flow, *model) {
	f, m := flow.New("f"), newModel("f")
	m.specialOrNot(r)
	inner := []int{0, 20, 40}[r.IntN(3)]
	fillRandomly(r, f, m, inner, m)
	m.free()
	return f, m
}

// fillRandomly gives a flow members, of which so many in a hundred are flows, but at most 8 of all.
func fillRandomly(r *rand.Rand, f *flow.Flow, m *model, inner int, all *model) {
	f.OnDone("end", "done").OnDeath("end", "dead")
	depth := strings.Count(m.id, "/")
	most := 9
	if depth > 0 {
		most = 3
	}
	var jobs []*flow.Job
	for n := range 1 + r.IntN(most) {
		name := fmt.Sprintf("m%d", n)
		member := m.add(name)
		var job *flow.Job
		if depth < 4 && len(all.all()) < 8 && r.IntN(100) < inner { // five may be in each other
			in := flow.New("")
			job = f.Flow(name, in)
			fillRandomly(r, in, m.in(name), inner+20, all)
		} else {
			member.queue, member.modelTerms = fmt.Sprintf("q%d", r.IntN(3)), m.terms()
			job = f.Entry(member.entry(m.id + "/" + name)).Named(name)
		}
		for i, from := range jobs {
			if r.IntN(100) >= 35 {
				continue
			}
			rule := []string{"cancel", "even", "hold"}[r.IntN(3)]
			job.After(from)
			switch rule {
			case "even":
				job.Even(flow.Dead)
			case "hold":
				job.Hold(flow.Dead)
			}
			before := m.members[m.names[i]]
			before.next = append(before.next, modelEdge{name, rule})
			m.unmet[name][m.names[i]] = true
		}
		jobs = append(jobs, job)
	}
}

// free lets those run that wait for nobody.
func (m *model) free() {
	for _, name := range m.names {
		if m.members[name].state == "waits" && len(m.unmet[name]) == 0 {
			m.due = append(m.due, name)
		}
	}
	m.advance()
}

// ended is the end of a member that lived.
func (m *model) ended(name, how string) {
	member := m.members[name]
	switch {
	case member.state == "lives":
	case member.state == "dead" && how != "dead": // it was retried by hand, or deleted
	default:
		return
	}
	member.state = how
	m.todo = append(m.todo, name)
	m.advance()
}

// advance does what is to be done, unless the flow is paused.
func (m *model) advance() {
	if m.state != "running" || m.paused && !m.cancel {
		return
	}
	for len(m.todo)+len(m.due) > 0 {
		if len(m.due) > 0 {
			name := m.due[0]
			m.due = m.due[1:]
			switch member := m.members[name]; {
			case member.state != "waits":
			case m.cancel:
				m.drop(name)
			default:
				member.state = "lives"
				m.turn(name)
			}
			continue
		}
		from := m.todo[0]
		m.todo = m.todo[1:]
		for _, edge := range m.members[from].next {
			m.meet(from, edge)
		}
	}
	if m.state == "running" && !slices.ContainsFunc(m.names, func(name string) bool { return m.left(name) }) {
		m.finish()
	}
}

// turn is that of a member, which may be a flow: one that was retried by itself may run, or have ended, by then.
func (m *model) turn(name string) {
	inner := m.members[name].inner
	switch {
	case inner == nil, inner.state == "running":
	case inner.state == "held":
		inner.state, inner.paused = "running", m.paused
		inner.free()
	default:
		m.ended(name, inner.state)
	}
}

// drop cancels a member that waits.
func (m *model) drop(name string) {
	m.members[name].state = "cancelled"
	m.todo = append(m.todo, name)
	if inner := m.members[name].inner; inner != nil {
		inner.over()
	}
}

// over ends a flow whose turn does not come, with those that are in it. Its members stay as they are.
func (m *model) over() {
	if m.state != "held" {
		return
	}
	m.state = "cancelled"
	m.tell()
	for _, inner := range m.within() {
		inner.over()
	}
}

// within are the flows that are members.
func (m *model) within() (within []*model) {
	for _, name := range m.names {
		if inner := m.members[name].inner; inner != nil {
			within = append(within, inner)
		}
	}
	return within
}

// all are the flow and those that are in it, however deep.
func (m *model) all() []*model {
	all := []*model{m}
	for _, inner := range m.within() {
		all = append(all, inner.all()...)
	}
	return all
}

// at is the flow of a job, and its name there.
func (m *model) at(id string) (*model, string) {
	for _, of := range m.all() {
		if name, in := strings.CutPrefix(id, of.id+"/"); in && !strings.Contains(name, "/") {
			return of, name
		}
	}
	panic("no member: " + id)
}

func (m *model) left(name string) bool {
	state := m.members[name].state
	return state == "waits" || state == "lives"
}

func (m *model) meet(from string, edge modelEdge) {
	how, to := m.members[from].state, m.members[edge.to]
	switch {
	case how == "done", edge.rule == "even" && !m.cancel:
		if m.unmet[edge.to][from] {
			delete(m.unmet[edge.to], from)
			if len(m.unmet[edge.to]) == 0 {
				m.due = append(m.due, edge.to)
			}
		}
	case edge.rule == "hold" && how == "dead" && !m.cancel:
	case to.state == "waits":
		m.drop(edge.to)
	}
}

func (m *model) finish() {
	m.state = "done"
	for _, member := range m.members {
		if member.state != "done" {
			m.state = "dead"
		}
	}
	if m.cancel {
		m.state = "cancelled"
	}
	m.tell()
	if !m.cancel {
		id := m.id + "/@" + m.state
		if m.generation > 1 {
			id += fmt.Sprintf("#%d", m.generation)
		}
		m.said.endings = append(m.said.endings, id)
	}
	if m.outer != nil { // where its turn has not come once more it is told then
		m.outer.ended(m.name, m.state)
	}
}

func (m *model) tell() {
	m.said.told[m.id] = append(m.said.told[m.id], fmt.Sprint(m.state, " ", m.generation))
}

// cancelAll cancels the flow: those that wait at once. Those that live are cancelled as jobs.
func (m *model) cancelAll() {
	switch m.state {
	case "held":
		m.over()
		if outer := m.outer; outer.members[m.name].state == "waits" {
			outer.members[m.name].state = "lives" // for a moment
			outer.ended(m.name, m.state)
		}
	case "running":
		m.cancel = true
		for _, name := range m.names {
			if m.members[name].state == "waits" {
				m.drop(name)
			}
		}
		for _, inner := range m.within() {
			inner.cancelAll()
		}
		m.advance()
	}
}

// pause pauses the flow, with those in it that run, or lets it go on.
func (m *model) pause(pause bool) {
	if m.state != "running" {
		return
	}
	m.paused = pause
	for _, inner := range m.within() {
		inner.pause(pause)
	}
	m.advance()
}

// retry runs those again that are not done, if that can be. living are jobs that were retried by hand, and have not
// ended.
func (m *model) retry(living map[string]bool) bool {
	if !m.retriable() {
		return false
	}
	m.reopen(living)
	m.state = "running"
	m.free()
	return true
}

// retriable tells whether a flow can be retried by its id.
func (m *model) retriable() bool {
	return (m.state == "dead" || m.state == "cancelled") &&
		(m.outer == nil || m.outer.state == "running" && !m.outer.cancel)
}

// reopen has those that are not done wait once more, and so on in flows that are in the flow, which is held then.
func (m *model) reopen(living map[string]bool) {
	if m.state != "dead" && m.state != "cancelled" {
		return
	}
	again := map[string]bool{}
	for name, member := range m.members {
		again[name] = member.state != "done"
	}
	for _, name := range m.names {
		member := m.members[name]
		if !again[name] {
			continue
		}
		if member.state = "waits"; living[m.id+"/"+name] {
			member.state = "lives"
		}
		if member.inner != nil {
			member.inner.reopen(living)
		}
		for _, edge := range member.next {
			if edge.rule == "even" && again[edge.to] {
				m.unmet[edge.to][name] = true
			}
		}
	}
	m.state, m.cancel, m.paused, m.generation = "held", false, false, m.generation+1
}

// count is how many members are in one of the states.
func (m *model) count(states ...string) (n int) {
	for _, member := range m.members {
		if slices.Contains(states, member.state) {
			n++
		}
	}
	return n
}

// jobs are the ids of the jobs in all flows, or of those in a state.
func (m *model) jobs(state string) (ids []string) {
	for _, of := range m.all() {
		for _, name := range of.names {
			if member := of.members[name]; member.inner == nil && (state == "" || member.state == state) {
				ids = append(ids, of.id+"/"+name)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
