package webui

import (
	"context"
	"log/slog"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/visit"
)

// AuditEntry is an attempt to act.
type AuditEntry struct {
	Time    time.Time
	Actor   string   // as Authorize said
	Remote  string   // address of the connection
	Action  string   // path of the route, such as "/job-retry"
	Targets []string // ids or names, or a selection in words
	Outcome Outcome
	Detail  string // what came of it, or why not
}

// Outcome is how an attempt to act ended.
type Outcome string

// The outcomes.
const (
	OutcomeDone   Outcome = Outcome(visit.Done)   // all of it
	OutcomePartly Outcome = Outcome(visit.Partly) // not to all targets; Detail says how many
	OutcomeFailed Outcome = Outcome(visit.Failed) // an error; after one from the connection it may have been done
	// nothing was tried: not the role for it, read-only, or sent by another site
	OutcomeRefused Outcome = Outcome(visit.Refused)
	OutcomeBegun   Outcome = Outcome(visit.Begun) // another entry says how it ended; without one the program died
)

// record tells of an attempt. What Audit itself does wrong must not undo what was done.
func (v *caller) record(outcome visit.Outcome, detail string, targets []string) {
	entry := AuditEntry{
		Time: time.Now(), Actor: v.Actor, Remote: v.R.RemoteAddr, Action: v.Path, Targets: targets,
		Outcome: Outcome(outcome), Detail: detail,
	}
	level := slog.LevelInfo
	if entry.Outcome == OutcomeFailed || entry.Outcome == OutcomeRefused {
		level = slog.LevelWarn
	}
	options := &v.site.options
	options.Logger.LogAttrs(context.WithoutCancel(v.Ctx()), level, "dashboard action",
		slog.String("action", entry.Action), slog.String("actor", entry.Actor), slog.String("remote", entry.Remote),
		slog.Any("targets", targets), slog.String("outcome", string(outcome)), slog.String("detail", detail))
	v.tell(entry)
}

// tell tells the program's audit, and the one in Redis.
func (v *caller) tell(entry AuditEntry) {
	if audit := v.site.options.Audit; audit != nil {
		audit(entry)
	}
	v.keep(entry)
}

// auditPatience is how long an answer waits for its entry to be kept in Redis.
const auditPatience = 2 * time.Second

// keep notes an attempt in Redis, also of who has gone before the answer. Where that fails the log has it all the same.
func (v *caller) keep(entry AuditEntry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(v.Ctx()), auditPatience)
	defer cancel()
	err := v.Inspector.NoteAudit(ctx, inspect.AuditEntry{Actor: entry.Actor, Remote: entry.Remote, Action: entry.Action,
		Targets: entry.Targets, Outcome: string(entry.Outcome), Detail: entry.Detail})
	if err != nil {
		v.site.options.Logger.Error("dashboard: an action is not kept in Redis", "action", entry.Action, "error", err)
	}
}
