package main

import (
	"context"
	"fmt"
	"reflect"

	"github.com/265d0351/work"
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
func (a *app) actOnSelection(ctx context.Context, i *work.Inspector, o jobOrder) error {
	selection, err := o.selection.selection(o.action.states)
	if err == nil {
		selection.ErrorGroup, err = wholeGroup(ctx, i, selection.ErrorGroup)
	}
	if err != nil {
		return err
	}
	bulk := func(ctx context.Context, dryRun bool) (bulkResult, error) {
		steps := a.steps("looked at")
		defer steps.clear()
		steady, between, stop := a.gently(ctx)
		defer stop()
		options := work.BulkOptions{DryRun: dryRun, Limit: o.flags.limit, Progress: func(done, total int) {
			steps.set(done, total)
			between()
		}}
		if o.action.bulk == nil {
			return cancelSelection(steady, i, selection, options)
		}
		report, err := i.Bulk(steady, selection, o.action.bulk(o.flags), options)
		return newBulkResult(report, dryRun), err
	}
	if !o.flags.yes {
		first, err := i.Search(ctx, selection, work.SearchOptions{Limit: 1})
		if err != nil {
			return err
		}
		if err := a.confirmBulk(ctx, o, selection, lookedAt(selection, first.Total, o.flags.limit), bulk); err != nil {
			return err
		}
	}
	result, err := bulk(ctx, o.flags.dryRun)
	result.Action, result.past = o.action.name, o.action.past
	if result.Total > 0 || err == nil {
		if printed := a.showBulk(result); err == nil {
			err = printed
		}
	}
	if err != nil {
		return orInterrupted(ctx, err)
	}
	return result.verdict()
}

// lookedAt is how many records are looked at until so many jobs are found: where all of a state are selected, no more.
func lookedAt(selection work.Selection, records, limit int) int {
	if limit > 0 && reflect.DeepEqual(selection, work.Selection{State: selection.State}) {
		return min(records, limit)
	}
	return records
}

// confirmBulk asks before very many records are looked at. Where jobs would be destroyed it counts them then, and asks
// again.
func (a *app) confirmBulk(ctx context.Context, o jobOrder, selection work.Selection, records int,
	bulk func(context.Context, bool) (bulkResult, error)) error {
	action, destroys := o.action, o.action.destroys && !o.flags.dryRun
	if destroys && !canAnswer(a.in) {
		return a.confirm(fmt.Sprintf("%s %s?", action.name, describe(selection))) // which says so
	}
	if records > mostUnasked {
		if err := a.confirm(walkQuestion(records)); err != nil {
			return err
		}
	}
	if !destroys {
		return nil
	}
	would, err := bulk(ctx, true)
	if err != nil {
		return err
	}
	return a.confirm(fmt.Sprintf("%s the %s that are there now of these: %s, in namespace %s?", action.name,
		counted(would.Matched, "job"),
		describe(selection), a.namespace))
}

func newBulkResult(report work.BulkReport, dryRun bool) bulkResult {
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

func (a *app) showBulk(result bulkResult) error {
	if a.quiet && !a.json && len(result.Refused) == 0 {
		return nil
	}
	return a.show(result, result.lines)
}

// lines are the result for a person.
func (r bulkResult) lines(c *console) []string {
	text := fmt.Sprintf("%s of %s %s", number(r.Done), counted(r.Matched, "selected job"), r.past)
	if r.DryRun {
		text = fmt.Sprintf("%s would be %s", counted(r.Matched, "job"), r.past)
	}
	text += fmt.Sprintf(", looked at %s of %s", number(r.Looked), number(r.Total))
	if r.Changed > 0 {
		text += fmt.Sprintf("; %s had moved on", number(r.Changed))
	}
	if r.Far > 0 {
		text += fmt.Sprintf("; %s stand too deep in their queues: try again when they are nearer", number(r.Far))
	}
	if !r.Complete {
		text += "; it did not get to the end: the same command goes on"
	}
	lines := fold(text, c.width)
	for _, refused := range r.Refused {
		lines = append(lines, indented(c, visible(refused.ID)+": "+visible(refused.Error))...)
	}
	return lines
}

// verdict is an error if something that should have been done was not. What had moved on was not selected any more.
func (r bulkResult) verdict() error {
	left := r.Matched - r.Done - r.Changed
	if r.DryRun || left == 0 {
		return nil
	}
	return &unfulfilledError{status: exitUndone,
		err: fmt.Errorf("%s of %s could not be %s", number(left), counted(r.Matched, "job"), r.past)}
}

// cancelSelection goes through the pages of a search: to cancel reaches also what runs.
func cancelSelection(ctx context.Context, i *work.Inspector, selection work.Selection,
	opts work.BulkOptions) (bulkResult, error) {
	result := bulkResult{DryRun: opts.DryRun}
	for cursor := ""; ; {
		if err := context.Cause(ctx); err != nil {
			return result, err
		}
		page, err := i.Search(ctx, selection,
			work.SearchOptions{Cursor: cursor, Limit: pageSize(opts.Limit, result.Matched)})
		if err != nil {
			return result, err
		}
		result.Looked, result.Total = page.Through, max(page.Total, page.Through)
		result.Matched += len(page.Jobs)
		if !opts.DryRun && len(page.Jobs) > 0 {
			upshots, err := cancelAll(ctx, i, idsOf(page.Jobs))
			if result.count(upshots); err != nil {
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

func idsOf(jobs []*work.JobInfo) []string {
	ids := make([]string, len(jobs))
	for n, job := range jobs {
		ids[n] = job.ID
	}
	return ids
}

// count books what became of the jobs of a page.
func (r *bulkResult) count(upshots []upshot) {
	for _, u := range upshots {
		if u.err == nil {
			r.Done++
		} else {
			r.Changed++ // it has ended, or died
		}
	}
}
