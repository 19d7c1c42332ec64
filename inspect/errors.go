package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// ErrorGroup is one kind of failure of the jobs of one name.
type ErrorGroup struct {
	Digest  string    `json:"digest"`  // names the group, see Selection.ErrorGroup
	Name    string    `json:"name"`    // of the jobs
	Message string    `json:"message"` // without what differs from job to job: see docs/history.md
	Count   int64     `json:"count"`   // attempts that failed so, and jobs that died for that reason
	Sample  string    `json:"sample"`  // id of the last such job; it may have ended since
	First   time.Time `json:"first"`   // when it was first and last counted, by Redis' clock
	Last    time.Time `json:"last"`
}

// Errors returns the groups of errors of one name, or of all where the name is empty, the most frequent first. There
// are at most 1,000 of one name and 10,000 in all: beyond that, the janitor of the workers removes those that came last
// the longest time ago, and new ones are counted in one group of the name, "(other errors: there are too many kinds)",
// until it has. Groups that nothing was added to for 90 days go too.
func (i *Inspector) Errors(ctx context.Context, name string) ([]ErrorGroup, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	known := map[string]ErrorGroup{} // a walk may show a group twice
	err := i.store.ErrorGroups(ctx, func(page []rdb.ErrorGroup) error {
		for _, g := range page {
			if g.Name != "" && (name == "" || g.Name == name) {
				known[g.Digest] = ErrorGroup{Digest: g.Digest, Name: g.Name, Message: g.Message, Count: g.Count,
					Sample: g.Sample,
					First:  g.First, Last: g.Last}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("the groups of errors cannot be read: %w", err)
	}
	groups := make([]ErrorGroup, 0, len(known))
	for _, g := range known {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b ErrorGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last), strings.Compare(a.Digest, b.Digest))
	})
	return groups, nil
}

// ClearErrors forgets the groups of errors of one name, or all where the name is empty. Jobs keep their errors, and
// those that fail later are counted anew.
func (i *Inspector) ClearErrors(ctx context.Context, name string) error {
	if i.unusable != nil {
		return i.unusable
	}
	var digests []string
	if name != "" {
		groups, err := i.Errors(ctx, name)
		if err != nil || len(groups) == 0 {
			return err
		}
		for _, g := range groups {
			digests = append(digests, g.Digest)
		}
	}
	if err := i.store.ForgetErrorGroups(ctx, digests); err != nil {
		return fmt.Errorf("the groups of errors cannot be cleared: %w", err)
	}
	return nil
}
