// Package needs knows how jobs are told apart that may run on some workers only: by labels that a worker has and a job
// needs. Jobs of one name that need the same wait in a queue of their own, so a worker without these labels never sees
// them, and they never stand in the way of others. The name of such a queue is the name of the jobs with the labels
// behind it; what holds for a name, a limit for instance, holds for all queues of it.
//
// Jobs of several names may share a queue: then it is called by a name of its own. A worker that has no handler for one
// of these names puts such a job into a queue beside it, as if it needed a label that only workers with a handler have.
package needs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
)

// The bounds of labels: they keep the number of queues that a worker has to know of one name below 163.
const (
	MostOfWorker = 8  // labels of a worker
	MostOfJob    = 4  // labels that a job needs
	MaxBytes     = 64 // of a label
)

// mark stands between a name and what its jobs need. No name has it: it is a control character. Scripts know it too.
const mark = "\x1f"

// own is how the label of those begins that have a handler for a name, which follows. It comes last, as a name may have
// commas in it. No label of a user has that byte.
const own = "="

// Queue is the queue of jobs of a name that need these labels, which are sorted and each there once. Without any it is
// the name itself.
func Queue(name string, labels []string) string {
	if len(labels) == 0 {
		return name
	}
	return name + mark + strings.Join(labels, ",")
}

// Name is the name of the jobs of a queue.
func Name(queue string) string {
	if at := strings.IndexByte(queue, mark[0]); at >= 0 {
		return queue[:at]
	}
	return queue
}

// Of are the labels that the jobs of a queue need; nil where they need none.
func Of(queue string) []string {
	_, labels, some := strings.Cut(queue, mark)
	if !some {
		return nil
	}
	labels, name, handed := strings.Cut(labels, own)
	if !handed {
		return strings.Split(labels, ",")
	}
	var all []string
	if labels != "" {
		all = strings.Split(strings.TrimSuffix(labels, ","), ",")
	}
	return append(all, own+name)
}

// Handler is the label of those that have a handler for a name.
func Handler(name string) string { return own + name }

// HandOn is the queue of jobs of a name that were met in a queue which several names share by a worker that has no
// handler for them.
func HandOn(queue, name string) string {
	return Queue(Name(queue), append(Of(Home(queue)), Handler(name)))
}

// Home is where the jobs of a queue were put before any worker has handed them on: most often the queue itself.
func Home(queue string) string {
	name, labels, some := strings.Cut(queue, mark)
	if labels, _, handed := strings.Cut(labels, own); some && handed {
		if labels == "" {
			return name
		}
		return name + mark + strings.TrimSuffix(labels, ",")
	}
	return queue
}

// Some tells whether the jobs of a queue need any labels.
func Some(queue string) bool { return strings.Contains(queue, mark) }

// Met tells whether a worker with these labels may run jobs that need those.
func Met(needs, labels []string) bool {
	return !slices.ContainsFunc(needs, func(label string) bool { return !slices.Contains(labels, label) })
}

// Text is a queue as people read it: "export (needs gpu, v2)".
func Text(queue string) string {
	labels := Of(queue)
	if len(labels) == 0 {
		return queue
	}
	last := labels[len(labels)-1]
	name, handed := strings.CutPrefix(last, own)
	switch {
	case !handed:
		return Name(queue) + " (needs " + strings.Join(labels, ", ") + ")"
	case len(labels) == 1:
		return Name(queue) + " (of " + name + ")"
	}
	return Name(queue) + " (of " + name + ", needs " + strings.Join(labels[:len(labels)-1], ", ") + ")"
}

// Sorted are labels in the form that Queue expects.
func Sorted(labels []string) []string {
	if len(labels) < 2 {
		return labels
	}
	return slices.Compact(slices.Sorted(slices.Values(labels)))
}

// Check refuses labels that cannot be, as an *invalid.Error, or too many of them. what says whose they are.
func Check(what string, labels []string, most int) error {
	for _, label := range labels {
		if err := checkOne(what, label); err != nil {
			return err
		}
	}
	if n := len(Sorted(labels)); n > most {
		return &invalid.Error{What: what, Value: fmt.Sprintf("%d labels", n), Remedy: fmt.Sprintf("use at most %d",
			most)}
	}
	return nil
}

func checkOne(what, label string) error {
	switch {
	case label == "":
		return &invalid.Error{What: what, Value: "an empty label",
			Remedy: fmt.Sprintf("use 1 to %d letters, digits and .:/_-", MaxBytes)}
	case len(label) > MaxBytes:
		return &invalid.Error{What: what, Value: fmt.Sprintf("%s, which has %d bytes", excerpt.Brief(label),
			len(label)),
			Remedy: fmt.Sprintf("use at most %d", MaxBytes)}
	case strings.ContainsFunc(label, func(c rune) bool { return !allowed(c) }):
		return &invalid.Error{What: what, Value: excerpt.Brief(label), Remedy: "use letters, digits and .:/_- only"}
	}
	return nil
}

func allowed(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(".:/_-", c)
}
