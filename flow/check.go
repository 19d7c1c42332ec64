package flow

import (
	"fmt"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/span"
)

// The bounds of names.
const (
	maxFlowID = 100
	maxMember = 80
	maxGraph  = 10_000 // members: a batch may have any number
	maxDepth  = 5      // flows that are in each other
	maxInner  = 180    // bytes of the id of one that is in another: those of its jobs are longer
)

func brief(name string) string { return excerpt.Brief(name) }

// refuse notes a mistake, which [Enqueue] returns.
func (f *Flow) refuse(what, value, remedy string) {
	f.errs = append(f.errs, mistake(what, value, remedy))
}

// mistake is a *work.InvalidError.
func mistake(what, value, remedy string) error {
	return inside.AsInvalid(&invalid.Error{What: what, Value: value, Remedy: remedy})
}

// check returns what is wrong with the flow, and with those that are in it: the first mistake.
func (f *Flow) check() error {
	if len(f.errs) > 0 {
		return f.errs[0]
	}
	if f.outer != nil {
		return mistake("flow "+brief(f.ID()), "in another one", "enqueue that one")
	}
	if err := checkID(f.id); err != nil {
		return err
	}
	return f.checkMembers(1)
}

// checkMembers is check of a flow that is so deep in others.
func (f *Flow) checkMembers(depth int) error {
	what := "flow " + brief(f.ID())
	switch {
	case len(f.jobs) == 0:
		return mistake(what, "without a job", "add one with Job")
	case len(f.jobs) > maxGraph:
		return mistake(what, fmt.Sprintf("one of %d jobs", len(f.jobs)),
			fmt.Sprintf("use at most %d, and Batch for more", maxGraph))
	case f.keep <= 0 || f.keep > span.Longest:
		return mistake("Retention of "+what, f.keep.String(), "use above zero and at most 100 years")
	}
	names := make(map[string]bool, len(f.jobs))
	for _, j := range f.jobs {
		if err := checkMember(j.name); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if names[j.name] {
			return mistake("member "+brief(j.name)+" of "+what, "there twice",
				"give one of the two another name with Named")
		}
		names[j.name] = true
		if err := j.checkInner(depth + 1); err != nil {
			return err
		}
	}
	return f.checkEdges()
}

// checkInner is what is wrong with a flow in that place.
func (j *Job) checkInner(depth int) error {
	if j.inner == nil {
		return nil
	}
	f, id := j.inner, j.inner.ID()
	what := "flow " + brief(id)
	switch {
	case len(f.errs) > 0:
		return f.errs[0]
	case depth > maxDepth:
		return mistake(what, fmt.Sprintf("the %dth that is in another", depth),
			fmt.Sprintf("use at most %d", maxDepth))
	case f.given:
		return mistake(what, "given the id "+brief(f.id), "make it with an empty one: its name in the other is its id")
	case f.keep != defaultKeep:
		return mistake(what, "given a Retention", "give it to the one that it is in: it is kept as long as that")
	case len(j.entry.Options) > 0:
		return mistake(what, "given options by With", "give them to its jobs")
	case len(id) > maxInner:
		return mistake("id of "+what, fmt.Sprintf("of %d bytes", len(id)),
			fmt.Sprintf("use at most %d: it is made of the names of all that it is in", maxInner))
	}
	return f.checkMembers(depth)
}

// checkEdges refuses what waits for jobs of other flows, twice for the same, or for itself.
func (f *Flow) checkEdges() error {
	for _, j := range f.jobs {
		what := "job " + brief(j.name) + " of flow " + brief(f.ID())
		seen := map[*Job]bool{}
		for _, e := range j.after {
			switch {
			case e.from == nil:
				return mistake(what, "after a nil job", "give After jobs that Job has returned")
			case e.from.flow != f:
				return mistake(what,
					fmt.Sprintf("after job %s of flow %s", brief(e.from.name), brief(e.from.flow.ID())),
					"let it wait for jobs of its own flow only")
			case seen[e.from]:
				return mistake(what, "after job "+brief(e.from.name)+" twice", "name it once")
			}
			seen[e.from] = true
		}
	}
	if circle := f.circle(); circle != nil {
		return mistake("flow "+brief(f.ID()), "a circle: "+strings.Join(circle, " waits for "),
			"take one of these out: none of them could ever run")
	}
	return nil
}

// circle returns the names of jobs that wait for each other, the first one once more at the end; nil where there are
// none.
func (f *Flow) circle() []string {
	waits, next := make(map[*Job]int, len(f.jobs)), make(map[*Job][]*Job, len(f.jobs))
	var free []*Job
	for _, j := range f.jobs {
		waits[j] = len(j.after)
		if len(j.after) == 0 {
			free = append(free, j)
		}
		for _, e := range j.after {
			next[e.from] = append(next[e.from], j)
		}
	}
	for len(free) > 0 {
		j := free[len(free)-1]
		free = free[:len(free)-1]
		delete(waits, j)
		for _, to := range next[j] {
			if waits[to]--; waits[to] == 0 {
				free = append(free, to)
			}
		}
	}
	for _, j := range f.jobs {
		if waits[j] > 0 {
			return walk(j, waits)
		}
	}
	return nil
}

// walk goes from one that waits to another until it comes by one again.
func walk(j *Job, waits map[*Job]int) []string {
	at := map[*Job]int{}
	var names []string
	for {
		if from, been := at[j]; been {
			return append(names[from:], names[from])
		}
		at[j] = len(names)
		names = append(names, brief(j.name))
		for _, e := range j.after {
			if waits[e.from] > 0 {
				j = e.from
				break
			}
		}
	}
}

func checkID(id string) error { return checkWord("flow id", id, maxFlowID) }

func checkMember(name string) error {
	if strings.HasPrefix(name, "@") {
		return mistake("name of member", brief(name), "use one that does not begin with \"@\"")
	}
	return checkWord("name of member", name, maxMember)
}

func checkWord(what, word string, most int) error {
	if err := invalid.Word(what, word, most); err != nil {
		return inside.AsInvalid(err)
	}
	if strings.Contains(word, "/") {
		return mistake(what, brief(word), "use one without a slash, which stands between a flow and its member in ids")
	}
	return nil
}
