package webui

import (
	"context"
	"log/slog"
	"time"
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
	OutcomeDone    Outcome = "done"    // all of it
	OutcomePartly  Outcome = "partly"  // not to all targets; Detail says how many
	OutcomeFailed  Outcome = "failed"  // an error; after one from the connection it may have been done
	OutcomeRefused Outcome = "refused" // nothing was tried: not the role for it, read-only, or sent by another site
	OutcomeBegun   Outcome = "begun"   // another entry says how it ended; without one the program died
)

// audit tells of an attempt. What Audit itself does wrong must not undo what was done.
func (v *visit) audit(outcome Outcome, detail string, targets ...string) {
	entry := AuditEntry{
		Time: time.Now(), Actor: v.actor, Remote: v.r.RemoteAddr, Action: v.path, Targets: targets, Outcome: outcome,
		Detail: detail,
	}
	v.audited = true
	level := slog.LevelInfo
	if outcome == OutcomeFailed || outcome == OutcomeRefused {
		level = slog.LevelWarn
	}
	v.options.Logger.LogAttrs(context.WithoutCancel(v.r.Context()), level, "dashboard action",
		slog.String("action", entry.Action), slog.String("actor", entry.Actor), slog.String("remote", entry.Remote),
		slog.Any("targets", targets), slog.String("outcome", string(outcome)), slog.String("detail", detail))
	if v.options.Audit != nil {
		v.options.Audit(entry)
	}
}
