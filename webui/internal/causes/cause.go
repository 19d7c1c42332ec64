// Package causes puts failures together by what they have in common, over all names of jobs, and tells which are new
// since a deploy. It shows nothing itself.
package causes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
)

// Cause is what jobs of several names fail for: groups of errors with the same message, without numbers and ids.
type Cause struct {
	Message string               `json:"message"`
	Count   int64                `json:"count"`
	First   time.Time            `json:"first"`
	Last    time.Time            `json:"last"`
	Sample  string               `json:"sample"` // id of the last such job
	Groups  []inspect.ErrorGroup `json:"groups"` // one of each name, the most frequent first
	Hours   []int64              `json:"hours"`  // how often in each of the last 24 hours, oldest first
	// the last deploy of a service that serves one of the names, where the cause was first seen behind it
	NewSince *Deploy `json:"new_since,omitempty"`
}

// Of puts groups of the same message together, the most frequent first.
func Of(groups []inspect.ErrorGroup) []Cause {
	at, causes := map[string]int{}, []Cause{}
	for _, g := range groups {
		n, known := at[g.Message]
		if !known {
			n = len(causes)
			at[g.Message] = n
			causes = append(causes, Cause{Message: g.Message, First: g.First})
		}
		c := &causes[n]
		c.Count, c.Groups = c.Count+g.Count, append(c.Groups, g)
		if g.First.Before(c.First) {
			c.First = g.First
		}
		if g.Last.After(c.Last) {
			c.Last, c.Sample = g.Last, g.Sample
		}
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), strings.Compare(a.Message, b.Message))
	})
	return causes
}

// digests are those of all groups of the causes.
func digests(causes []Cause) (all []string) {
	for _, c := range causes {
		for _, g := range c.Groups {
			all = append(all, g.Digest)
		}
	}
	return all
}

// addHours tells how often the causes came by the hour.
func addHours(causes []Cause, hours map[string][]int64) {
	for n := range causes {
		for _, g := range causes[n].Groups {
			for hour, count := range hours[g.Digest] {
				if len(causes[n].Hours) <= hour {
					causes[n].Hours = append(causes[n].Hours, 0)
				}
				causes[n].Hours[hour] += count
			}
		}
	}
}

// markNew finds the causes that were first seen after the last deploy of a service with one of their names.
func markNew(causes []Cause, deploys []Deploy) {
	for n := range causes {
		c := &causes[n]
		for d := range deploys {
			serves := func(g inspect.ErrorGroup) bool { return deploys[d].names[g.Name] }
			if slices.ContainsFunc(c.Groups, serves) && c.First.After(deploys[d].At) &&
				(c.NewSince == nil || deploys[d].At.After(c.NewSince.At)) {
				c.NewSince = &deploys[d]
			}
		}
	}
}
