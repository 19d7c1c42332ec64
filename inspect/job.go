package inspect

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/crash"
	"github.com/265d0351/work/internal/ended"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/rdb/flowlook"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
)

// Job tells where the job of that id stands, what happened to it and, if it waits, why. The error is [work.ErrNotFound]
// when it has ended and no outcome is kept, or there was no such job. However fast the job moves from place to place,
// the answer is true of one moment. It takes two requests, whose cost does not grow with the queue.
func (i *Inspector) Job(ctx context.Context, id string) (*JobInfo, error) {
	infos, err := i.Jobs(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case infos[0] == nil:
		return nil, fmt.Errorf("job %s: %w", excerpt.Brief(id), work.ErrNotFound)
	}
	return infos[0], nil
}

// Jobs is [Inspector.Job] for many ids, in as many requests as it takes for 4 to 64 jobs at a time, fewer where they
// are large. The answers are in the order of the ids, each as of a moment of its own, and nil where nothing is found.
// After an error they are nil for those jobs too that could not be looked at.
func (i *Inspector) Jobs(ctx context.Context, ids ...string) ([]*JobInfo, error) {
	of := i.everywhere(ctx)
	if of.err != nil {
		return make([]*JobInfo, len(ids)), of.err
	}
	for _, id := range ids {
		if err := inside.AsInvalid(invalid.JobID(id)); err != nil {
			return make([]*JobInfo, len(ids)), err
		}
	}
	return i.jobs(ctx, of, ids)
}

// jobs looks for jobs in one partition.
func (v *view) jobs(ctx context.Context, ids []string) ([]*JobInfo, error) {
	infos := make([]*JobInfo, len(ids))
	var refusals []error
	err := v.lookUp(ctx, ids, v.store.Lookup, func(n int, found *rdb.Found) {
		info, err := newJobInfo(found)
		if err != nil {
			refusals = append(refusals, fmt.Errorf("job %s cannot be looked up: %w", excerpt.Brief(ids[n]), err))
		}
		infos[n] = v.placed(info)
	})
	if err != nil {
		return infos, fmt.Errorf("jobs cannot be looked up: %w", excerpt.Join(append(refusals, err)...))
	}
	return infos, excerpt.Join(refusals...)
}

// placed notes of a job that it is here; of none nothing.
func (v *view) placed(info *JobInfo) *JobInfo {
	if info != nil {
		info.Partition = v.partition
	}
	return info
}

// lookUp looks for jobs, a few at a time.
func (v *view) lookUp(ctx context.Context, ids []string, look lookFunc, visit func(n int, found *rdb.Found)) error {
	for from, size := 0, minLookup; from < len(ids); {
		page := ids[from:min(from+size, len(ids))]
		found, err := lookedUp(ctx, page, look)
		if err != nil {
			return err
		}
		bytes := 0
		for n := range found {
			visit(from+n, &found[n])
			bytes += len(found[n].Record) + len(found[n].Trail) + len(found[n].Outcome) +
				len(found[n].Details)
		}
		from, size = from+len(page), nextLookup(size, bytes)
	}
	return nil
}

// minLookup is how many jobs are looked up at first, while it is not known how large they are: each may have a MiB.
const minLookup = 4

// nextLookup is how many jobs to ask for after so many with so many bytes, for replies of about a MiB.
func nextLookup(size, bytes int) int {
	switch {
	case bytes > 1<<20:
		return max(1, size/4)
	case bytes < 1<<18:
		return min(rdb.MaxLookup, 2*size)
	}
	return size
}

// newJobInfo makes sense of what was found; nil where nothing was.
func newJobInfo(f *rdb.Found) (*JobInfo, error) {
	if f.Err != nil || f.Where == rdb.WhereGone {
		return nil, f.Err
	}
	crashes := crash.Read(f.Crashes)
	info := &JobInfo{ID: f.ID, AsOf: f.Time, Cancelling: f.Flagged, Crashes: crashes.Workers()}
	if f.Where == rdb.WhereEnded {
		info.readDetails(f.Details)
		return info, info.readOutcome(f.Outcome)
	}
	info.readRecord(f.Record)
	trail := record.DecodeTrail(f.Trail)
	info.readTrail(trail)
	if f.Queue != "" && info.Options.Queue == "" {
		info.Name = needs.Name(f.Queue)
	}
	info.setPlace(f)
	info.readAttempts(f, &trail, &crashes)
	return info, nil
}

// readOutcome takes over what is kept of a job that has ended.
func (j *JobInfo) readOutcome(b []byte) error {
	kept, err := record.DecodeOutcome(b)
	if err != nil {
		return fmt.Errorf("its outcome is not what this version writes: %w", err)
	}
	j.State, j.Result, j.ResultProblem = work.State(record.StateName(kept.State)), kept.Result, kept.Problem
	j.Failure = cmp.Or(event.FailureKind(kept.Failure), j.Failure)
	j.EndedAt, j.Name = timeOf(kept.EndedAt), cmp.Or(kept.Name, j.Name)
	return nil
}

func (j *JobInfo) readRecord(b []byte) {
	j.Name = record.NameIn(b)
	r, err := record.Decode(b)
	if err != nil {
		j.Problem = err.Error()
		return
	}
	j.Args, j.Meta, j.Tags, j.SourceID, j.Parent = r.Args, r.Meta, r.Tags, r.Source, r.Parent
	j.AgainOf = r.AgainOf
	if j.Flow, j.Member = r.Flow, r.Member(); j.Member == flowdb.LodgedJob {
		j.Flow, j.Member = flowdb.OuterOf(r.Flow) // which is in another partition
	}
	if of, end, is := flowlook.EndOf(r.ID); is && !r.Given {
		j.Flow, j.Member = of, end
	}
	j.EnqueuedAt, j.RunAt = timeOf(r.EnqueuedAt), timeOf(max(r.EnqueuedAt, r.RunAt))
	j.Options = JobInfoOptions{
		Retries: r.Retries, Timeout: span.FromMillis(r.Timeout), Retention: span.FromMillis(r.Retention),
		RetryFor: span.FromMillis(r.RetryFor),
		Expires:  timeOf(r.Expires), Deadline: timeOf(r.Deadline), Completion: r.Completion, Unique: r.Lock != "",
		Needs: r.Needs, Queue: r.Shared,
		Objects: len(r.Objects), Key: r.Key,
	}
	if r.Key != "" {
		j.Options.Weight = max(1, r.Weight)
	}
}

func (j *JobInfo) readTrail(t record.Trail) {
	j.Fails, j.Reason, j.HasLog, j.HasState = t.Fails, t.Reason, t.Log, t.State
	j.Failure = event.FailureKind(t.FailureKind())
	j.readChildren(t.Children)
	for _, f := range t.Errors {
		j.Errors = append(j.Errors, JobError{At: timeOf(f.At), Attempt: f.Attempt, Worker: f.Worker, Error: f.Error,
			Stack: f.Stack})
	}
	if t.RunAt > 0 {
		j.RunAt = timeOf(t.RunAt)
	}
}

func (j *JobInfo) readChildren(c *record.Children) {
	if c != nil {
		j.Children, j.ChildrenLeftOut = c.IDs, max(0, c.Count-len(c.IDs))
	}
}

// readDetails takes over what is kept of a job that has ended, beside its outcome.
func (j *JobInfo) readDetails(text []byte) {
	if text == nil {
		return
	}
	details, err := ended.Decode(text)
	if err != nil {
		j.Problem = "what is kept of it is not what this version writes: " + err.Error()
		return
	}
	name := j.Name
	if details.Record != nil {
		j.readRecord(details.Record)
	}
	j.Name = cmp.Or(name, j.Name)
	if j.NoArgs = string(details.NoArgs); j.NoArgs != "" {
		j.Args = nil
	}
	j.Attempts, j.AttemptsLeftOut, j.Fails = attemptsOf(details.Attempts), details.Left, details.Fails
	j.setFirstBegun(details.Begun)
	j.AgainAs = details.Again
	j.readChildren(details.Children)
	j.Reason, j.Failure = details.Reason, event.FailureKind(details.Failure)
	for _, a := range details.Attempts {
		if a.HasFailed() {
			j.Errors = append(j.Errors, JobError{At: timeOf(a.Ended), Attempt: a.Number, Worker: a.Worker,
				Error: a.Error, Stack: a.Stack})
		}
	}
	if last := len(details.Attempts); last > 0 {
		if due := details.Attempts[last-1].Due; due > 0 {
			j.RunAt = timeOf(due)
		}
	}
	if details.Message != "" || details.Progress != nil {
		j.Checkin = &JobCheckin{At: timeOf(details.SaidAt), Message: details.Message, Progress: details.Progress}
	}
}

// readAttempts takes over the attempts of a living job, the one under way included.
func (j *JobInfo) readAttempts(f *rdb.Found, t *record.Trail, crashes *crash.Record) {
	j.Attempts, j.AttemptsLeftOut = attemptsOf(ended.Attempts(t, crashes)), t.LeftOut()
	if f.Where == rdb.WhereClaimed {
		j.Attempts = append(j.Attempts, Attempt{Number: t.Fails + 1, Due: j.RunAt, Begun: j.BegunAt, Worker: j.Worker,
			Outcome: AttemptRunning})
	}
	j.setFirstBegun(t.FirstBegun)
}

// setFirstBegun takes over when the first attempt began, of those that are not told: 0 where all are.
func (j *JobInfo) setFirstBegun(unlisted int64) {
	j.FirstBegunAt = timeOf(unlisted)
	if unlisted != 0 || j.AttemptsLeftOut > 0 {
		return
	}
	for _, a := range j.Attempts {
		if !a.Begun.IsZero() && (j.FirstBegunAt.IsZero() || a.Begun.Before(j.FirstBegunAt)) {
			j.FirstBegunAt = a.Begun
		}
	}
}

// setPlace says where a living job is.
func (j *JobInfo) setPlace(f *rdb.Found) {
	switch f.Where {
	case rdb.WhereClaimed:
		j.State, j.Worker, j.BegunAt, j.WorkerLost = work.StateRunning, f.Claim.Worker, f.Claim.Since, !f.Alive
		said, refused := readCheckin(f.Said)
		if refused && !said.At.Before(j.BegunAt) {
			j.Why = []WaitReason{{Kind: WaitRefused, Error: said.Message}}
		} else if said != nil && !said.At.Before(j.BegunAt) { // else it is of an earlier claim
			j.Checkin = said
		}
	case rdb.Where(rdb.ShelfScheduled):
		j.State, j.RunAt = work.StateScheduled, f.Due
		j.Why = []WaitReason{{Kind: WaitDue, Until: f.Due}}
		if len(j.Crashes) >= crash.SuspectAfter { // any attempt that ends in good order forgets them
			j.Why[0].Kind = WaitSuspect
		}
	case rdb.Where(rdb.ShelfRetry):
		j.State, j.RunAt, j.Why = work.StateRetrying, f.Due, []WaitReason{{Kind: WaitDue, Until: f.Due}}
	case rdb.Where(rdb.ShelfMorgue):
		j.State, j.Since = work.StateDead, f.Due
	case rdb.Where(rdb.ShelfStalled):
		j.State, j.Since = work.StateStalled, f.Due
	case rdb.WhereQueue:
		j.queued(f)
	default:
		j.State = work.StateLost
	}
}

// queued is for a job in its queue. One there that was cancelled or deleted was too deep in it to be taken out: it has
// ended for everybody but the worker that will come by it.
func (j *JobInfo) queued(f *rdb.Found) {
	if f.Flagged {
		j.State = doomedAs(f.Outcome)
		if kept, err := record.DecodeOutcome(f.Outcome); err == nil && kept.State == string(j.State) {
			j.EndedAt = timeOf(kept.EndedAt)
		}
		return
	}
	j.State, j.Why = work.StateQueued, whyQueued(f.Waits, f.Time, j.Options.Needs)
	if f.Waits.Parked == nil {
		j.Ahead = f.Waits.Before
	}
}

// readCheckin reads "<ms> <message>". refused says that it is the worker's: why Redis does not take the outcome.
func readCheckin(text string) (said *JobCheckin, refused bool) {
	at, text, ok := strings.Cut(text, " ")
	ms, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return nil, false
	}
	message, progress := record.DecodeCheckin(text)
	return &JobCheckin{At: timeOf(ms), Message: message, Progress: progress}, record.IsRefused(text)
}
