// Package jobnames decides which names of jobs an Enqueuer accepts, so that a misspelt one is told at once and does not
// lie in a queue that nobody serves. Names are those that the program has, or such as some worker has served. It never
// refuses a job because Redis would not tell.
package jobnames

import (
	"context"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/nearest"
)

// Rule says which names are accepted. Its methods may be called concurrently.
type Rule struct {
	given  map[string]bool
	known  func(name string) bool // whether the program has it beside those: asked for each job
	list   func() []string        // what known knows
	served *Served                // is asked for all other names; nil: they are refused

	is, has string // what is wrong with a name, and who has those that are known
	remedy  string // what to do, but to spell it right
}

// OfPool is the rule for the Enqueuer of a pool, which knows the names that it has registered, and more. list is called
// for errors only.
func OfPool(known func(name string) bool, list func() []string, more []string) *Rule {
	return &Rule{
		given: set(more), known: known, list: list, is: "not registered with this pool", has: "it has",
		remedy: "register it with Job, or name jobs of other programs in WorkerOptions.EnqueueNames",
	}
}

// OfEnqueuer is the rule for an Enqueuer that was given names. served may be nil: then it accepts no others.
func OfEnqueuer(names []string, served *Served) *Rule {
	r := &Rule{given: set(names), known: func(string) bool { return false }, list: func() []string { return nil },
		served: served, is: "not one of the names of this Enqueuer", has: "it has",
		remedy: "add it to the option Names"}
	if served != nil {
		r.is, r.has = "one that no worker has served in the last 90 days", "there are"
		r.remedy = "start a worker with it, or add it to the option Names"
	}
	return r
}

func set(names []string) map[string]bool {
	all := map[string]bool{}
	for _, name := range names {
		all[name] = true
	}
	return all
}

// Check returns an *invalid.Error of the first name that is not accepted, and its index. A name that the program has
// costs nothing more, also where others are asked for: all of these in one round trip.
func (r *Rule) Check(ctx context.Context, names ...string) (at int, err error) {
	var others []string
	for i, name := range names {
		switch {
		case r.given[name] || r.known(name):
		case r.served == nil:
			return i, r.refusal(name, nil)
		default:
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return 0, nil
	}
	never, served, err := r.served.never(ctx, others)
	if err != nil {
		return 0, err
	}
	for i, name := range names {
		if never[name] {
			return i, r.refusal(name, served)
		}
	}
	return 0, nil
}

// refusal is the error of a name where these are served.
func (r *Rule) refusal(name string, served []string) error {
	known := slices.Concat(slices.Collect(maps.Keys(r.given)), r.list(), served)
	slices.Sort(known)
	known = slices.Compact(known)
	remedy := r.remedy
	if meant := nearest.DidYouMean(name, known, excerpt.Brief); meant != "" {
		remedy = meant + " If not, " + remedy
	}
	return &invalid.Error{What: "job " + excerpt.Brief(name), Value: r.is,
		Remedy: remedy + "; " + r.has + " " + excerpt.Names(known)}
}
