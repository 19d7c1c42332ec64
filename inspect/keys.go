package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
)

// KeyInfo is one key of a queue: of a customer for instance, see [work.Key].
type KeyInfo struct {
	Key    string `json:"key"`
	Weight int    `json:"weight,omitzero"` // of a job of it that came late; 0 where that is not known
	// jobs that wait in the queue, those of Parked among them. Of a queue in which over 1,000 jobs wait for their turn
	// it is reckoned from how far the turns of the key go, and Exact is false: what was deleted counts then
	Waiting int  `json:"waiting"`
	Exact   bool `json:"exact"`
	Parked  int  `json:"parked"`  // may not begin: the key has no room for them. Nobody looks at them until it has
	Running int  `json:"running"` // jobs that run, or that have a place of the key and are about to
	// which part that is of all jobs with a key that run now, 0 to 1. What a key had before is not kept
	Share float64 `json:"share,omitzero"`

	Limit    work.Limit `json:"limit,omitzero"`    // in force: its own, or that of all keys of the name
	Ordered  bool       `json:"ordered,omitzero"`  // one of its jobs runs at a time, in their order
	Stopped  bool       `json:"stopped,omitzero"`  // by hand: none of its jobs begins
	Operator bool       `json:"operator,omitzero"` // somebody has set Limit, or Stopped, for this key
	Problem  string     `json:"problem,omitzero"`  // why its limit cannot be read

	// why more of its jobs do not begin, as [JobInfo].Why says it of one. Where there is no reason here, and none in
	// its queue, jobs of the key have their turns
	Why []WaitReason `json:"why,omitempty"`
}

// KeysOptions says which keys of a queue.
type KeysOptions struct {
	Name   string // of the queue
	Cursor string // KeyPage.Next of the page before; "" is the beginning
	Limit  int    // of keys; 0 is 50, at most 500
}

// KeyPage is a page of the keys of a queue that have jobs which wait or run.
type KeyPage struct {
	Keys []KeyInfo `json:"keys"`
	Next string    `json:"next,omitzero"` // the cursor of the next page; "" at the end

	InLine  int `json:"in_line"` // keys with jobs that wait for their turn; about, where over 1,000 jobs do
	Waiting int `json:"waiting"` // jobs with a key that wait, those of Parked among them
	Parked  int `json:"parked"`  // may not begin: their keys have no room for them
	Running int `json:"running"` // jobs with a key that run, or have a place of it
	Keyless int `json:"keyless"` // jobs that wait without a key: they have turns together, as one more key
}

// Keys reads a page of the keys of a queue, the noisiest first: those with the most parked jobs, and those whose last
// job will wait longest for its turn. Keys that were limited or stopped by hand are among them, without jobs at the
// end. What a page costs does not grow with how many keys there are, nor with how many jobs these have. Keys of which
// jobs come and go between two pages may come twice or not at all, others come once; of partitions that have jobs of
// the same key it is told once, with what they have together. While no key of the namespace has a limit, a page costs
// a look at all that run as well. A page may be shorter than its Limit, or empty, while
// Next has more. Options that cannot be are an *[work.InvalidError].
func (i *Inspector) Keys(ctx context.Context, opts KeysOptions) (KeyPage, error) {
	if i.unusable != nil {
		return KeyPage{}, i.unusable
	}
	from, err := opts.validate()
	if err != nil {
		return KeyPage{}, err
	}
	of := i.served(ctx)
	if of.err != nil {
		return KeyPage{}, of.err
	}
	walk := keysWalk{opts: opts, from: from}
	page, err := walk.page(ctx, of.views)
	if err != nil {
		err = fmt.Errorf("the keys of queue %s cannot be read: %w", excerpt.Brief(opts.Name), err)
	}
	return page, noted(ctx, err)
}

// validate fills in the defaults and reads the cursor.
func (o *KeysOptions) validate() (keysCursor, error) {
	if err := inside.AsInvalid(invalid.JobName(o.Name)); err != nil {
		return keysCursor{}, err
	}
	if o.Limit < 0 || o.Limit > maxPage {
		return keysCursor{}, &work.InvalidError{What: "the limit of the page", Value: strconv.Itoa(o.Limit),
			Remedy: "use 1 to 500, or 0 for 50"}
	}
	o.Limit = cmp.Or(o.Limit, defaultPage)
	var cursor keysCursor
	if o.Cursor == "" {
		return cursor, nil
	}
	if err := decodeCursor(o.Cursor, &cursor); err != nil {
		return keysCursor{}, err
	}
	if cursor.Name != o.Name {
		return keysCursor{}, badCursor(o.Cursor, errOtherCursor)
	}
	return cursor, nil
}

// byNoise sorts those with the most waiting jobs first.
func byNoise(keys []KeyInfo) {
	slices.SortFunc(keys, func(a, b KeyInfo) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Running, a.Running),
			strings.Compare(a.Key, b.Key))
	})
}
