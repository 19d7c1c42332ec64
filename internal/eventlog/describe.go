package eventlog

import (
	"cmp"
	"log/slog"
	"strings"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/excerpt"
)

// describe says how an event is logged. The attributes come as a function, since most events are below the level.
func (l *Log) describe(e event.Event) (slog.Level, string, func() []slog.Attr) {
	if level, message, ref, more := l.describeJob(e); message != "" {
		return level, message, func() []slog.Attr { return append(attrsOf(ref), more()...) }
	}
	if level, message, attrs := describePeriodic(e); message != "" {
		return level, message, func() []slog.Attr { return attrs }
	}
	level, message, attrs := describeWorker(e)
	return level, message, func() []slog.Attr { return attrs }
}

func (l *Log) describeJob(e event.Event) (level slog.Level, message string, ref event.JobRef, more func() []slog.Attr) {
	none := func() []slog.Attr { return nil }
	switch e := e.(type) {
	case event.JobStarted:
		return slog.LevelDebug, "job started", e.JobRef, func() []slog.Attr {
			return []slog.Attr{slog.Duration("waited", e.Waited)}
		}
	case event.JobCheckedIn:
		return slog.LevelDebug, "job checked in", e.JobRef, func() []slog.Attr {
			return []slog.Attr{slog.String("message", e.Message), slog.String("progress", string(e.Progress))}
		}
	case event.JobDone:
		return slog.LevelDebug, "job done", e.JobRef, func() []slog.Attr {
			return []slog.Attr{slog.Duration("elapsed", e.Elapsed)}
		}
	case event.JobFailed:
		return slog.LevelWarn, "job failed, will be retried", e.JobRef, func() []slog.Attr {
			return append([]slog.Attr{slog.Duration("retry_in", e.RetryIn), kindAttr(e.Failure)},
				l.failureAttrs(e.Err)...)
		}
	case event.JobBuried:
		return slog.LevelError, "job buried", e.JobRef, func() []slog.Attr {
			return append([]slog.Attr{slog.String("reason", e.Reason), kindAttr(e.Failure)}, l.failureAttrs(e.Err)...)
		}
	case event.JobCancelled:
		return slog.LevelInfo, "job cancelled", e.JobRef, none
	case event.JobExpired:
		return slog.LevelInfo, "job expired", e.JobRef, func() []slog.Attr { return []slog.Attr{slog.Time("at", e.At)} }
	case event.DeathHookFailed:
		return slog.LevelError, "the function OnDeath failed", e.JobRef,
			func() []slog.Attr { return l.failureAttrs(e.Err) }
	case event.JobDiscarded:
		return slog.LevelInfo, "job discarded", e.JobRef, func() []slog.Attr {
			return append([]slog.Attr{kindAttr(e.Failure)}, l.failureAttrs(e.Err)...)
		}
	case event.JobSnoozed:
		return slog.LevelDebug, "job snoozed", e.JobRef, func() []slog.Attr {
			return append([]slog.Attr{slog.Duration("for", e.For)}, l.failureAttrs(e.Err)...)
		}
	case event.JobReleased:
		return slog.LevelInfo, "job given back", e.JobRef, func() []slog.Attr { return l.failureAttrs(e.Err) }
	case event.JobStuck:
		return slog.LevelError, "handler has not returned although its ctx ended", e.JobRef, func() []slog.Attr {
			return l.failureAttrs(e.Cause)
		}
	case event.OutcomeUnknown:
		return slog.LevelWarn, "nobody can tell whether the outcome counted", e.JobRef, none
	case event.ClaimGone:
		if e.Unaccounted {
			return slog.LevelWarn, "outcome did not count, Redis has lost its data", e.JobRef, none
		}
		return slog.LevelWarn, "outcome did not count, the job had been given to another worker", e.JobRef, none
	}
	return l.describeStep(e)
}

func (l *Log) describeStep(e event.Event) (level slog.Level, message string, ref event.JobRef,
	more func() []slog.Attr) {
	switch e := e.(type) {
	case event.StepDone:
		return slog.LevelDebug, "step done", e.JobRef, func() []slog.Attr {
			return []slog.Attr{slog.String("step", e.Step), slog.String("kind", string(e.Kind)),
				slog.Duration("elapsed", e.Elapsed), slog.Int("bytes", e.Bytes)}
		}
	case event.WaitIgnored:
		return slog.LevelWarn, "handler did not return the error of its wait: the job waits all the same", e.JobRef,
			func() []slog.Attr {
				return append([]slog.Attr{slog.String("step", e.Step)}, l.failureAttrs(e.Err)...)
			}
	}
	return 0, "", event.JobRef{}, nil
}

// inPartition names the partition of the namespace, but for the one that every namespace has.
func inPartition(partition int, attrs ...slog.Attr) []slog.Attr {
	if partition == 0 {
		return attrs
	}
	return append(attrs, slog.Int("partition", partition))
}

func describeWorker(e event.Event) (slog.Level, string, []slog.Attr) {
	switch e := e.(type) {
	case event.WorkerStarted:
		return slog.LevelInfo, "worker started", inPartition(e.Partition, slog.String("worker", e.Worker),
			slog.Int("concurrency", e.Concurrency), slog.Int("queues", len(e.Queues)))
	case event.WorkerStopped:
		if e.Err != nil {
			return slog.LevelWarn, "worker stopped", []slog.Attr{slog.String("worker", e.Worker), errorAttr(e.Err)}
		}
		return slog.LevelInfo, "worker stopped", []slog.Attr{slog.String("worker", e.Worker)}
	case event.PartitionJoined:
		return slog.LevelInfo, "worker pool works in one more partition",
			[]slog.Attr{slog.Int("partition", e.Partition), slog.String("worker", e.Worker)}
	case event.PartitionLeft:
		if e.Err != nil {
			return slog.LevelWarn, "worker pool has left a partition",
				[]slog.Attr{slog.Int("partition", e.Partition), errorAttr(e.Err)}
		}
		return slog.LevelInfo, "worker pool has left a partition", []slog.Attr{slog.Int("partition", e.Partition)}
	case event.PoolIdle:
		return slog.LevelInfo, "worker pool stops, it had nothing to do", []slog.Attr{
			slog.String("worker", e.Worker), slog.Duration("idle", e.Idle)}
	case event.WorkerTold:
		return slog.LevelInfo, "worker was told what is wanted of it", []slog.Attr{
			slog.String("worker", e.Worker), slog.String("wanted", cmp.Or(e.Wanted, "go on"))}
	case event.LimitChanged:
		return slog.LevelInfo, "limit was declared otherwise than before", []slog.Attr{
			slog.String("job", e.Name), slog.String("limit", e.Limit), slog.String("service", e.Service),
			slog.String("former", e.Former), slog.String("former_service", e.FormerService)}
	case event.WorkerFenced:
		return slog.LevelError, "worker was declared dead and goes on under a new id", []slog.Attr{
			slog.String("worker", e.Worker), slog.String("next", e.Next), slog.Int("jobs", e.Jobs)}
	case event.WorkerCutOff:
		return slog.LevelError, "no heartbeat was answered: what ran may run elsewhere, and was ended", []slog.Attr{
			slog.String("worker", e.Worker), slog.Duration("silence", e.Silence), slog.Int("jobs", e.Jobs)}
	case event.DataLost:
		return slog.LevelError, "Redis lost data", lossAttrs(e)
	case event.JobsFetched:
		return slog.LevelDebug, "jobs fetched", []slog.Attr{
			slog.String("worker", e.Worker), slog.Int("jobs", e.Jobs), slog.Int("asked", e.Asked)}
	case event.BatchEnded:
		return slog.LevelDebug, "jobs that were taken together have ended", []slog.Attr{slog.String("worker", e.Worker),
			slog.String("job", e.Name), slog.Int("jobs", e.Jobs), slog.Duration("elapsed", e.Elapsed), errorAttr(e.Err)}
	case event.JobsSettled:
		return slog.LevelDebug, "outcomes settled",
			[]slog.Attr{slog.String("worker", e.Worker), slog.Int("jobs", e.Jobs)}
	case event.HistoryTold:
		return slog.LevelDebug, "history told", []slog.Attr{slog.String("worker", e.Worker), slog.Int("names", e.Names),
			slog.Int("errors", e.Errors), slog.Int("waiting", e.Waiting), slog.Duration("every", e.Every)}
	}
	return describeFinding(e)
}

// maxLoggedIDs is how many ids of lost jobs one line names; an observer gets more.
const maxLoggedIDs = 10

// lossAttrs leaves out what is of others: a worker knows of no enqueues, and an Enqueuer of no jobs held.
func lossAttrs(e event.DataLost) []slog.Attr {
	attrs := []slog.Attr{slog.Bool("failover", e.Failover)}
	if e.Worker != "" {
		attrs = append(attrs, slog.String("worker", e.Worker), slog.Int("held", e.Held),
			slog.Int("restored", e.Restored), slog.Int("reclaimed", e.Reclaimed), slog.Int("outcomes", e.Outcomes))
	}
	if lost := len(e.Enqueued) + e.EnqueuedMore; lost > 0 {
		ids := e.Enqueued[:min(len(e.Enqueued), maxLoggedIDs)]
		attrs = append(attrs, slog.Int("enqueued", lost), slog.String("ids", excerpt.Cut(strings.Join(ids, " "))))
	}
	if lost := len(e.Flows) + e.FlowsMore; lost > 0 {
		ids := e.Flows[:min(len(e.Flows), maxLoggedIDs)]
		attrs = append(attrs, slog.Int("stored_flows", lost), slog.String("flows", excerpt.Cut(strings.Join(ids, " "))))
	}
	return append(attrs, errorAttr(e.Err))
}

// describeFinding describes what was found in Redis, or in what looks after it.
func describeFinding(e event.Event) (slog.Level, string, []slog.Attr) {
	switch e := e.(type) {
	case event.JobsDropped:
		return slog.LevelWarn, "ids without a record were dropped from a queue", []slog.Attr{slog.Int("count", e.Count)}
	case event.KeyBroken:
		return slog.LevelError, "a key in Redis has a wrong type", []slog.Attr{slog.String("key", e.Key)}
	case event.WorkerReaped:
		return slog.LevelWarn, "jobs of a dead worker were put back", []slog.Attr{
			slog.String("worker", e.Worker), slog.Int("jobs", e.Jobs)}
	case event.JobsReturned:
		return slog.LevelWarn, "claims that nobody held were given back", []slog.Attr{
			slog.String("worker", e.Worker), slog.Int("jobs", e.Jobs)}
	case event.JobTrimmed:
		return slog.LevelInfo, "job was removed from the morgue",
			[]slog.Attr{slog.String("job", e.Name), slog.String("id", e.ID)}
	case event.QueueDestroyed:
		return slog.LevelInfo, "queue was destroyed", []slog.Attr{slog.String("queue", e.Name),
			slog.Int("jobs", e.Jobs), slog.Bool("forgotten", e.Forgotten)}
	case event.FlowStored:
		return slog.LevelDebug, "flow stored", []slog.Attr{slog.String("flow", e.Flow), slog.Int("jobs", e.Jobs)}
	case event.FlowEnded:
		return slog.LevelDebug, "flow ended", []slog.Attr{slog.String("flow", e.Flow),
			slog.String("how", string(e.How)),
			slog.Int("generation", e.Generation), slog.Int("jobs", e.Jobs), slog.Duration("took", e.Took)}
	case event.FlowReopened:
		return slog.LevelDebug, "flow opened again", []slog.Attr{slog.String("flow", e.Flow)}
	case event.ServerUnfit:
		return slog.LevelError, "Redis is set up so that jobs may be lost", inPartition(e.Partition,
			slog.String("problem", e.Problem), slog.String("remedy", e.Remedy))
	case event.Trouble:
		return slog.LevelWarn, "background work fails",
			[]slog.Attr{slog.String("component", e.Component), errorAttr(e.Err)}
	case event.TroubleOver:
		return slog.LevelInfo, "background work succeeds again", []slog.Attr{
			slog.String("component", e.Component), slog.Duration("after", e.After), slog.Int("failures", e.Failures)}
	case event.LoopPanicked:
		return slog.LevelError, "background work panicked", []slog.Attr{
			slog.String("component", e.Component), slog.String("panic", excerpt.Describe(e.Value)),
			slog.String("stack", e.Stack)}
	}
	return slog.LevelInfo, "event", []slog.Attr{slog.Any("event", e)}
}

func describePeriodic(e event.Event) (slog.Level, string, []slog.Attr) {
	of := func(schedule string, more ...slog.Attr) []slog.Attr {
		return append([]slog.Attr{slog.String("schedule", schedule)}, more...)
	}
	switch e := e.(type) {
	case event.PeriodicEnqueued:
		return slog.LevelDebug, "periodic job enqueued",
			of(e.Schedule, slog.String("job", e.Name), slog.String("id", e.ID),
				slog.Time("tick", e.Tick), slog.Time("run_at", e.RunAt))
	case event.PeriodicMissed:
		return slog.LevelWarn, "ticks of a schedule were missed",
			of(e.Schedule, slog.String("job", e.Name), slog.Int("ticks", e.Ticks),
				slog.Time("since", e.Since), slog.Time("until", e.Until))
	case event.PeriodicSkipped:
		return slog.LevelInfo, "tick left out, the job of the last one has not ended",
			of(e.Schedule, slog.String("job", e.Name),
				slog.Time("tick", e.Tick), slog.String("id", e.Job))
	case event.PeriodicChanged:
		return slog.LevelInfo, "schedule was declared otherwise than before",
			of(e.Schedule, slog.String("spec", e.Spec),
				slog.String("service", e.Service), slog.String("former_spec", e.FormerSpec),
				slog.String("former_service", e.FormerService))
	case event.PeriodicRemoved:
		return slog.LevelInfo, "schedule removed, nobody declares it any more",
			of(e.Schedule, slog.String("service", e.Service))
	case event.PeriodicBroken:
		return slog.LevelError, "schedule cannot be understood", of(e.Schedule, errorAttr(e.Err))
	}
	return 0, "", nil
}

// attrsOf are those of the job that an event is about.
func attrsOf(r event.JobRef) []slog.Attr {
	attrs := []slog.Attr{slog.String("job", r.Name), slog.String("id", r.ID), slog.Int("attempt", r.Attempt)}
	if r.SourceID != 0 {
		attrs = append(attrs, slog.Int64("source", r.SourceID))
	}
	if len(r.Tags) > 0 {
		attrs = append(attrs, slog.String("tags", excerpt.List(r.Tags, ",")))
	}
	if r.Key != "" {
		attrs = append(attrs, slog.String("key", r.Key))
	}
	return attrs
}

// failureAttrs are the error of an attempt and, after a panic, where it was.
func (l *Log) failureAttrs(err error) []slog.Attr {
	attrs := []slog.Attr{errorAttr(err)}
	if stack := l.stackOf(err); stack != "" {
		attrs = append(attrs, slog.String("stack", stack))
	}
	return attrs
}

// kindAttr is the kind of a failure, an empty attribute where it is none.
func kindAttr(kind event.FailureKind) slog.Attr {
	if kind == "" {
		return slog.Attr{}
	}
	return slog.String("failure", string(kind))
}

func errorAttr(err error) slog.Attr {
	if err == nil {
		return slog.Attr{}
	}
	return slog.String("error", excerpt.ErrorText(err))
}
