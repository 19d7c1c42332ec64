package flow_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/265d0351/work/flow"
)

// model is a plain interpreter of the rules of flows: what package flow and the scripts should come to.
type model struct {
	members    map[string]*modelMember
	names      []string
	unmet      map[string]map[string]bool // who waits -> for whom
	todo       []string                   // members that have ended, whose edges are to be looked at
	due        []string                   // members that may run, while the flow is paused
	state      string
	cancel     bool
	paused     bool
	generation int
	endings    []string // ids of what ran at the end
	told       []string // how it has ended, each time
}

// modelMember is a member: it waits, lives (in a queue or with a worker), or has ended.
type modelMember struct {
	state string // waits, lives (in a queue or with a worker), or how it has ended
	next  []modelEdge
}

type modelEdge struct{ to, rule string }

// randomFlow makes a flow of up to 9 members, and the model of it.
func randomFlow(r *rand.Rand) (*flow.Flow, *model) {
	f := flow.New("f").OnDone("end", "done").OnDeath("end", "dead")
	m := &model{members: map[string]*modelMember{}, unmet: map[string]map[string]bool{}, state: "running",
		generation: 1}
	var jobs []*flow.Job
	for n := range 1 + r.IntN(9) {
		name := fmt.Sprintf("m%d", n)
		job := f.Job(fmt.Sprintf("q%d", r.IntN(3))).Named(name)
		m.members[name], m.unmet[name] = &modelMember{state: "waits"}, map[string]bool{}
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
		m.names, jobs = append(m.names, name), append(jobs, job)
	}
	m.free()
	return f, m
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
			member := m.members[m.due[0]]
			m.due = m.due[1:]
			switch {
			case member.state != "waits":
			case m.cancel:
				member.state = "cancelled"
			default:
				member.state = "lives"
			}
			continue
		}
		from := m.todo[0]
		m.todo = m.todo[1:]
		for _, edge := range m.members[from].next {
			m.meet(from, edge)
		}
	}
	if !slices.ContainsFunc(m.names, func(name string) bool { return m.left(name) }) {
		m.finish()
	}
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
		to.state = "cancelled"
		m.todo = append(m.todo, edge.to)
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
	m.told = append(m.told, fmt.Sprint(m.state, " ", m.generation))
	if m.cancel {
		return
	}
	id := "f/@" + m.state
	if m.generation > 1 {
		id += fmt.Sprintf("#%d", m.generation)
	}
	m.endings = append(m.endings, id)
}

// cancelAll cancels the flow: those that wait at once. Those that live are cancelled as jobs.
func (m *model) cancelAll() {
	if m.state != "running" {
		return
	}
	m.cancel = true
	for _, name := range m.names {
		if m.members[name].state == "waits" {
			m.members[name].state = "cancelled"
		}
	}
	m.advance()
}

func (m *model) pause(pause bool) {
	if m.state == "running" {
		m.paused = pause
		m.advance()
	}
}

// retry runs those again that are not done. living are those that were retried by hand, and have not ended.
func (m *model) retry(living map[string]bool) bool {
	if m.state != "dead" && m.state != "cancelled" {
		return false
	}
	again := map[string]bool{}
	for name, member := range m.members {
		again[name] = member.state != "done"
	}
	for name, member := range m.members {
		if !again[name] {
			continue
		}
		if member.state = "waits"; living[name] {
			member.state = "lives"
		}
		for _, edge := range member.next {
			if edge.rule == "even" && again[edge.to] {
				m.unmet[edge.to][name] = true
			}
		}
	}
	m.state, m.cancel, m.paused, m.generation = "running", false, false, m.generation+1
	m.free()
	return true
}

// in are the members in a state.
func (m *model) in(state string) (names []string) {
	for name, member := range maps.All(m.members) {
		if member.state == state {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
