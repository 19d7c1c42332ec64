package asynq

import (
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
)

// defaultQueue is where asynq puts tasks of which nobody said where.
const defaultQueue = "default"

// Convert makes a job of a task.
func (*Source) Convert(job ledger.Job, now time.Time) (*migrate.Coming, error) {
	m, err := decodeMessage(job.Raw)
	if err != nil {
		return nil, err
	}
	c := &migrate.Coming{Name: m.Type, ID: migrate.ID("asynq", job.Queue, m.ID), Dead: job.Kind == ledger.Dead,
		Meta: maps.Clone(m.Headers)}
	if c.Meta == nil {
		c.Meta = map[string]string{}
	}
	form := ""
	if c.Args, form = migrate.Payload(m.Payload); form != "" {
		c.Meta["asynq.payload"] = form
		c.Notes = append(c.Notes, "payload is no JSON: comes over as a JSON string ("+form+")")
	}
	if job.Queue != defaultQueue {
		c.Meta["asynq.queue"] = job.Queue
	}
	if m.Retried > 0 {
		c.Meta["asynq.retried"] = strconv.Itoa(m.Retried)
	}
	c.Meta["asynq.error"], c.Meta["asynq.group"] = migrate.Brief(m.Error), m.Group
	left := m.Retry - m.Retried
	if job.Kind == ledger.Running { // the attempt that was lost counts, as it does in asynq
		c.Dead = left <= 0
		left--
	}
	c.Options = append(c.Options, work.Retries(min(max(0, left), math.MaxInt16)))
	if job.Kind == ledger.Scheduled || job.Kind == ledger.Retrying {
		c.At = time.Unix(max(job.Due, 1), 0)
	}
	times(c, m)
	if until := time.UnixMilli(job.LockUntil); job.LockUntil > 0 && until.After(now) && !c.Dead {
		c.Options = append(c.Options, work.Unique(work.UniqueOptions{}))
		c.Lock = migrate.Until(until, now)
	}
	if m.Unknown {
		c.Notes = append(c.Notes, "message has fields that are not known here: they are left out")
	}
	return c, nil
}

// times are timeout, deadline and retention.
func times(c *migrate.Coming, m *message) {
	if m.Timeout > 0 {
		c.Options = append(c.Options, work.Timeout(m.Timeout))
	}
	if m.Retention > 0 {
		c.Options = append(c.Options, work.Retention(m.Retention))
	}
	if m.Deadline.IsZero() || c.Dead {
		return
	}
	if !c.At.Before(m.Deadline) { // here a job cannot be due behind its deadline; it could not begin either
		c.At = m.Deadline.Add(-time.Second)
	}
	c.Options = append(c.Options, work.Deadline(m.Deadline))
}
