package pages

import (
	"slices"
	"strings"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// auditShown is how many entries a page has.
const auditShown = 50

// auditBody is a page of what people did.
type auditBody struct {
	Entries               []auditRow
	Actor, Action, Target string
	Actions               []string // that one can ask for
	First, Next           string
}

// Filtered tells whether only a part of it is wanted.
func (b *auditBody) Filtered() bool { return b.Actor+b.Action+b.Target != "" }

// auditRow is an entry with what it was done to.
type auditRow struct {
	inspect.AuditEntry
	Links []auditTarget
}

type auditTarget struct{ Text, Link string }

// Look is the class of the outcome's mark.
func (r auditRow) Look() string {
	switch visit.Outcome(r.Outcome) {
	case visit.Done, visit.Begun:
		return ""
	case visit.Failed:
		return "bad"
	}
	return "warn"
}

func (s *Site) showAudit(v *visit.Visit) error {
	body := &auditBody{Actor: v.Query.Get("actor"), Action: v.Query.Get("action"), Target: v.Query.Get("target")}
	opts := inspect.AuditOptions{Limit: auditShown, Actor: body.Actor, Action: body.Action, Target: body.Target,
		Cursor: v.Query.Get("cursor")}
	read, err := v.Inspector.Audit(v.Ctx(), opts)
	if err != nil {
		return err
	}
	for _, entry := range read.Entries {
		row := auditRow{AuditEntry: entry}
		for _, target := range entry.Targets {
			row.Links = append(row.Links, auditTarget{target, auditLink(entry.Action, target)})
		}
		body.Entries = append(body.Entries, row)
	}
	for _, route := range s.routes {
		if route.Acts() {
			body.Actions = append(body.Actions, route.Path)
		}
	}
	slices.Sort(body.Actions)
	here := []any{"actor", body.Actor, "action", body.Action, "target", body.Target}
	if opts.Cursor != "" {
		body.First = format.Link("audit", here...)
	}
	if read.Next != "" {
		body.Next = format.Link("audit", append(here, "cursor", read.Next)...)
	}
	return s.show(v, "audit", page{Title: "Audit", Nav: "/audit", Body: body})
}

// auditLink is where the target of an action can be seen, "" where that is not one thing.
func auditLink(action, target string) string {
	action = strings.TrimPrefix(strings.TrimPrefix(action, "/api"), "/")
	switch {
	case target == "":
		return ""
	case strings.HasPrefix(action, "job-"), action == "jobs-act", action == "jobs":
		return format.Link("job", "id", target)
	case strings.HasPrefix(action, "flow-"):
		return format.Link("flow", "id", target)
	case action == "queue-pause", action == "queue-resume", action == "queue-limit", action == "queue-unlimit",
		action == "queue-purge":
		return format.Link("queue", "name", target)
	}
	return ""
}
