package jobs

import (
	"context"
	"fmt"
	"reflect"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/inspect"
)

// bulkResult is how far an action on a selection got.
type bulkResult struct {
	Action   string        `json:"action"`
	DryRun   bool          `json:"dry_run"`
	Total    int           `json:"total"`   // jobs of that state when it began
	Looked   int           `json:"looked"`  // how many were looked at
	Matched  int           `json:"matched"` // how many of them were selected
	Done     int           `json:"done"`    // to how many of them it was done
	Changed  int           `json:"changed"` // how many had moved on meanwhile
	Far      int           `json:"far"`     // how many stand too deep in their queue
	Refused  []bulkRefusal `json:"refused,omitempty"`
	Complete bool          `json:"complete"` // it got to the end, or to --limit

	past string
}

// bulkRefusal is a job with which something is wrong.
type bulkRefusal struct {
	ID    string `json:"id"`
	Error string `json:"error"`
}

// actOnSelection does it to all that are selected, and says how far it got also where it could not go on.
func actOnSelection(ctx context.Context, a *cli.App, i *inspect.Inspector, o jobOrder) error {
	selection, err := o.selection.selection(o.action.states)
	if err == nil {
		selection.ErrorGroup, err = wholeGroup(ctx, i, selection.ErrorGroup)
	}
	if err != nil {
		return err
	}
	bulk := func(ctx context.Context, dryRun bool) (bulkResult, error) {
		steps := a.Console().Steps("looked at")
		defer steps.Clear()
		steady, between, stop := interrupt.Gently(ctx, a.Hurry)
		defer stop()
		options := inspect.BulkOptions{DryRun: dryRun, Limit: o.flags.limit, Progress: func(done, total int) {
			steps.Set(done, total)
			between()
		}}
		if o.action.bulk == nil {
			return cancelSelection(steady, i, selection, options)
		}
		report, err := i.Bulk(steady, selection, o.action.bulk(o.flags), options)
		return newBulkResult(report, dryRun), err
	}
	if !o.flags.yes {
		first, err := i.Search(ctx, selection, inspect.SearchOptions{Limit: 1})
		if err != nil {
			return err
		}
		if err := confirmBulk(ctx, a, o, reach{selection, lookedAt(selection, first.Total, o.flags.limit)},
			bulk); err != nil {
			return err
		}
	}
	result, err := bulk(ctx, o.flags.dryRun)
	result.Action, result.past = o.action.name, o.action.past
	if result.Total > 0 || err == nil {
		if printed := showBulk(a, result); err == nil {
			err = printed
		}
	}
	if err != nil {
		return interrupt.Cause(ctx, err)
	}
	return result.failure()
}

// lookedAt is how many records are looked at until so many jobs are found: where all of a state are selected, no more.
func lookedAt(selection inspect.Selection, records, limit int) int {
	if limit > 0 && isWhole(selection) {
		return min(records, limit)
	}
	return records
}

// isWhole reports whether a selection has nothing but a state: all jobs of it.
func isWhole(selection inspect.Selection) bool {
	return reflect.DeepEqual(selection, inspect.Selection{State: selection.State})
}

// reach is what an action is about: the jobs that are selected, and how many records are looked at for them.
type reach struct {
	selection inspect.Selection
	records   int
}

// confirmBulk asks before very many records are looked at, and before all jobs of a state are changed: a script may
// have lost the flag that selects some of them. A limit that is above their number selects all. Where jobs would be
// destroyed it counts them, and asks in any case.
func confirmBulk(ctx context.Context, a *cli.App, o jobOrder, r reach,
	bulk func(context.Context, bool) (bulkResult, error)) error {
	c, action := a.Console(), o.action
	whole := isWhole(r.selection) && (o.flags.limit == 0 || o.flags.limit > r.records)
	asks := (action.destroys || whole) && !o.flags.dryRun
	if asks && !c.CanAnswer() {
		return c.Confirm(fmt.Sprintf("%s %s?", action.name, selectionText(r.selection))) // which says so
	}
	if r.records > mostUnasked {
		if err := c.Confirm(walkQuestion(r.records)); err != nil {
			return err
		}
	}
	switch {
	case !asks:
		return nil
	case !action.destroys:
		return c.Confirm(fmt.Sprintf("%s %s, %s now, in namespace %s?", action.name, selectionText(r.selection),
			human.Counted(r.records, "job"), a.Namespace))
	}
	would, err := bulk(ctx, true)
	if err != nil {
		return err
	}
	return c.Confirm(fmt.Sprintf("%s the %s that are there now of these: %s, in namespace %s?", action.name,
		human.Counted(would.Matched, "job"), selectionText(r.selection), a.Namespace))
}

func newBulkResult(report inspect.BulkReport, dryRun bool) bulkResult {
	result := bulkResult{
		DryRun: dryRun, Total: report.Total, Looked: report.Looked, Matched: report.Matched, Done: report.Done,
		Changed: report.Changed,
		Far:     report.Far, Complete: report.Complete,
	}
	for _, refused := range report.Refused {
		result.Refused = append(result.Refused, bulkRefusal{ID: refused.ID, Error: refused.Err.Error()})
	}
	return result
}

func showBulk(a *cli.App, result bulkResult) error {
	if a.Quiet && !a.JSON && len(result.Refused) == 0 {
		return nil
	}
	return a.Console().Show(result, result.lines)
}

// lines are the result for a person.
func (r bulkResult) lines(c *console.Console) []string {
	text := fmt.Sprintf("%s of %s %s", human.Number(r.Done), human.Counted(r.Matched, "selected job"), r.past)
	if r.DryRun {
		text = fmt.Sprintf("%s would be %s", human.Counted(r.Matched, "job"), r.past)
	}
	text += fmt.Sprintf(", looked at %s of %s", human.Number(r.Looked), human.Number(r.Total))
	if r.Changed > 0 {
		text += fmt.Sprintf("; %s had moved on", human.Number(r.Changed))
	}
	if r.Far > 0 {
		text += fmt.Sprintf("; %s stand too deep in their queues: try again when they are nearer", human.Number(r.Far))
	}
	if !r.Complete {
		text += "; it did not get to the end: the same command goes on"
	}
	lines := human.Wrap(text, c.Width)
	for _, refused := range r.Refused {
		lines = append(lines, c.Indent(human.Visible(refused.ID)+": "+human.Visible(refused.Error))...)
	}
	return lines
}

// failure is an error if something that should have been done was not. What had moved on was not selected any more.
func (r bulkResult) failure() error {
	left := r.Matched - r.Done - r.Changed
	if r.DryRun || left == 0 {
		return nil
	}
	return &exit.StatusError{Status: exit.Undone,
		Err: fmt.Errorf("%s of %s could not be %s", human.Number(left), human.Counted(r.Matched, "job"), r.past)}
}

// cancelSelection goes through the pages of a search: to cancel reaches also what runs.
func cancelSelection(ctx context.Context, i *inspect.Inspector, selection inspect.Selection,
	opts inspect.BulkOptions) (bulkResult, error) {
	result := bulkResult{DryRun: opts.DryRun}
	for cursor := ""; ; {
		if err := context.Cause(ctx); err != nil {
			return result, err
		}
		page, err := i.Search(ctx, selection,
			inspect.SearchOptions{Cursor: cursor, Limit: pageSize(opts.Limit, result.Matched)})
		if err != nil {
			return result, err
		}
		result.Looked, result.Total = page.Through, max(page.Total, page.Through)
		result.Matched += len(page.Jobs)
		if !opts.DryRun && len(page.Jobs) > 0 {
			results, err := cancelAll(ctx, i, idsOf(page.Jobs))
			if result.count(results); err != nil {
				return result, err
			}
		}
		opts.Progress(result.Looked, result.Total)
		cursor = page.Next
		if cursor == "" || (opts.Limit > 0 && result.Matched >= opts.Limit) {
			result.Complete = true
			return result, nil
		}
	}
}

func idsOf(jobs []*inspect.JobInfo) []string {
	ids := make([]string, len(jobs))
	for n, job := range jobs {
		ids[n] = job.ID
	}
	return ids
}

// count books what became of the jobs of a page.
func (r *bulkResult) count(results []cli.Result) {
	for _, u := range results {
		if u.Err == nil {
			r.Done++
		} else {
			r.Changed++ // it has ended, or died
		}
	}
}
