package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb/peopledb"
)

// AuditEntry is something that a person did, or tried to do, by a dashboard.
type AuditEntry struct {
	At      time.Time `json:"at"`                // by Redis' clock
	Actor   string    `json:"actor,omitzero"`    // who; "" where nobody said
	Remote  string    `json:"remote,omitzero"`   // address of the connection: a proxy's, where there is one
	Action  string    `json:"action"`            // such as "/job-retry"
	Targets []string  `json:"targets"`           // ids or names, or a selection in words: the first 20
	LeftOut int       `json:"left_out,omitzero"` // targets that are not among them
	Outcome string    `json:"outcome"`           // done, partly, failed, refused or begun
	Detail  string    `json:"detail,omitzero"`   // what came of it, or why not
}

// AuditPage is a part of what people did, the newest first.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	Next    string       `json:"next,omitzero"` // for AuditOptions.Cursor; "" on the last page
}

// AuditOptions says what is wanted of it. The zero value is the newest 100 of all.
type AuditOptions struct {
	Limit  int    // at most so many, up to 1,000; 0 is 100
	Actor  string // only what that one did; "" is everybody
	Action string // only that action; "" is all
	Target string // only what was done to that id or name; "" is to all
	Cursor string // of the page before
}

// What is kept of an entry.
const (
	auditTargets = 20
	auditTarget  = 120 // bytes of one
	auditDetail  = 600
)

// NoteAudit keeps an entry in Redis, with the time of Redis' clock: up to 10,000 in each partition, for 90 days. It
// takes the first partition that answers. Long texts are cut. An entry whose reply is lost may be kept or not.
func (i *Inspector) NoteAudit(ctx context.Context, entry AuditEntry) error {
	of := i.served(ctx)
	if of.err != nil {
		return of.err
	}
	// ids of jobs sort as they were made: so do entries of one process that Redis notes within one millisecond
	noted := peopledb.Audited{ID: ids.Job(time.Now()), Text: entry.encode()}
	var err error
	for _, v := range of.views {
		if err = peopledb.Of(v.store).AddAudit(ctx, noted); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("what %s did is not kept: %w", excerpt.Brief(entry.Actor), err)
	}
	return nil
}

func (e AuditEntry) encode() string {
	e.At = time.Time{}
	e.Actor, e.Remote, e.Detail = cut(e.Actor, auditTarget), cut(e.Remote, auditTarget), cut(e.Detail, auditDetail)
	e.LeftOut += max(0, len(e.Targets)-auditTargets)
	shown := make([]string, min(len(e.Targets), auditTargets))
	for n := range shown {
		shown[n] = cut(e.Targets[n], auditTarget)
	}
	e.Targets = shown
	text, _ := json.Marshal(e) // texts and a number: there is nothing that cannot be written
	return string(text)
}

// cut leaves so many bytes of a text, and no half of a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Audit returns what people did by dashboards of this namespace, the newest first. Each page asks every partition, for
// as much as it shows, or for all that is kept where only some of it is wanted. With a *[PartialError] it is what the
// others have.
func (i *Inspector) Audit(ctx context.Context, opts AuditOptions) (AuditPage, error) {
	if opts.Limit <= 0 {
		opts.Limit = 100
	}
	if opts.Limit > 1000 {
		return AuditPage{}, &work.InvalidError{What: "AuditOptions.Limit", Value: fmt.Sprint(opts.Limit),
			Remedy: "use 1 to 1000"}
	}
	before, err := auditCursor(opts.Cursor)
	if err != nil {
		return AuditPage{}, err
	}
	found, err := readAll(ctx, i.everywhere(ctx), func(v *view, ctx context.Context) ([]audited, error) {
		return v.audit(ctx, before, opts)
	}, func(all *[]audited, ones []audited) { *all = append(*all, ones...) })
	slices.SortFunc(found, func(a, b audited) int {
		if a.of.At.Equal(b.of.At) {
			return strings.Compare(b.of.ID, a.of.ID)
		}
		return b.of.At.Compare(a.of.At)
	})
	found = slices.CompactFunc(found, func(a, b audited) bool { return a.of.ID == b.of.ID })
	page := AuditPage{Entries: make([]AuditEntry, min(len(found), opts.Limit))}
	for n := range page.Entries {
		page.Entries[n] = found[n].entry
	}
	if len(found) > opts.Limit {
		last := found[opts.Limit-1].of
		page.Next = fmt.Sprintf("%d-%s", last.At.UnixMilli(), last.ID)
	}
	return page, err
}

func auditCursor(text string) (before peopledb.Audited, err error) {
	if text == "" {
		return before, nil
	}
	at, id, _ := strings.Cut(text, "-")
	ms, err := strconv.ParseInt(at, 10, 64)
	if err != nil || ms <= 0 || id == "" {
		return before, &work.InvalidError{What: "AuditOptions.Cursor", Value: excerpt.Brief(text),
			Remedy: "use AuditPage.Next of the page before"}
	}
	return peopledb.Audited{At: time.UnixMilli(ms), ID: id}, nil
}

// audited is an entry and where it stands.
type audited struct {
	of    peopledb.Audited
	entry AuditEntry
}

// audit returns one more than is shown, where there is one.
func (v *view) audit(ctx context.Context, before peopledb.Audited, opts AuditOptions) (found []audited, err error) {
	err = peopledb.Of(v.store).Audit(ctx, before, func(a peopledb.Audited) bool {
		var entry AuditEntry
		if json.Unmarshal([]byte(a.Text), &entry) == nil && opts.wants(&entry) {
			entry.At = a.At
			found = append(found, audited{a, entry})
		}
		return len(found) <= opts.Limit
	})
	if err != nil {
		return nil, fmt.Errorf("what people did cannot be read: %w", err)
	}
	return found, nil
}

func (o *AuditOptions) wants(e *AuditEntry) bool {
	return (o.Actor == "" || o.Actor == e.Actor) && (o.Action == "" || o.Action == e.Action) &&
		(o.Target == "" || slices.Contains(e.Targets, cut(o.Target, auditTarget)))
}
