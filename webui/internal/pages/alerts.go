package pages

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/alerts"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// alertsBody is what is wrong, and what is told of it.
type alertsBody struct {
	Alerts   []alertRow
	Columns  columns.Heads // of Alerts
	Silences []inspect.Silence
	Silent   columns.Heads // the columns of Silences
	Sent     bool          // somebody sends alerts, or did within a week
}

// alertRow is an alert, or an incident of which nothing is seen at the moment.
type alertRow struct {
	alerts.Alert
	Incident inspect.Incident
	Gone     bool
	Silenced bool
}

// alertColumns are those by which alerts can be sorted.
var alertColumns = []columns.Column[alertRow]{
	columns.Flag("bad", "Alert", func(r *alertRow) bool { return r.Bad }),
	columns.Text("rule", "Rule", func(r *alertRow) alerts.Rule { return r.Rule }),
	columns.Text("what", "What", func(r *alertRow) string { return r.Text }),
	columns.Time("since", "Since", (*alertRow).Since).Down(),
	columns.By("told", "Told", func(a, b *alertRow) int {
		return cmp.Or(a.Incident.Told.Compare(b.Incident.Told), columns.FalseFirst(a.Silenced, b.Silenced),
			cmp.Compare(a.Incident.Tries, b.Incident.Tries))
	}).Down().Says("when somebody was told"),
}

// silenceColumns are those by which silenced rules can be sorted.
var silenceColumns = []columns.Column[inspect.Silence]{
	columns.Text("rule", "Rule", func(r *inspect.Silence) string { return r.Rule }),
	columns.Time("until", "Until", func(r *inspect.Silence) time.Time { return r.Until }),
	columns.Text("by", "By", func(r *inspect.Silence) string { return r.By }),
}

// silences are for how long one can silence a rule from the page.
var silences = []struct {
	Label, For string
}{{"1 hour", "1h"}, {"8 hours", "8h"}, {"1 day", "24h"}, {"7 days", "168h"}}

// Silences are the choices.
func (*alertsBody) Choices() any { return silences }

func (s *Site) showAlerts(v *visit.Visit) error {
	found, err := alerts.Look(v.Ctx(), v.Inspector, v.StuckAfter)
	if err != nil {
		return err
	}
	incidents, silenced, err := v.Inspector.Incidents(v.Ctx())
	if err != nil {
		return err
	}
	body := &alertsBody{Silences: silenced, Sent: len(incidents) > 0}
	for _, alert := range found {
		body.Alerts = append(body.Alerts, alertRow{Alert: alert})
	}
	for _, incident := range incidents {
		at := slices.IndexFunc(body.Alerts, func(r alertRow) bool { return string(r.Rule) == incident.Rule })
		if at < 0 {
			body.Alerts = append(body.Alerts, alertRow{Gone: true, Alert: alerts.Alert{Rule: alerts.Rule(incident.Rule),
				Bad: incident.Bad, Text: incident.Text, Link: incident.Link}})
			at = len(body.Alerts) - 1
		}
		body.Alerts[at].Incident = incident
	}
	for n := range body.Alerts {
		row := &body.Alerts[n]
		row.Silenced = slices.ContainsFunc(silenced, func(s inspect.Silence) bool { return s.Rule == string(row.Rule) })
	}
	body.Columns = columns.Sort(v, body.Alerts, alertColumns)
	body.Silent = columns.SortPart(v, "silences", body.Silences, silenceColumns)
	return s.show(v, "alerts", page{Title: "Alerts", Nav: "/alerts", Body: body})
}

func (s *Site) silenceAlert(v *visit.Visit) error {
	rule, err := v.Target("rule")
	if err != nil {
		return err
	}
	within, err := v.Silence()
	if err != nil {
		return err
	}
	done := fmt.Sprintf("Nobody is told of %s for %s.", format.Shorten(rule, 60), format.Span(within))
	return s.finish(v, once{target: rule, done: done, back: "alerts"},
		v.Inspector.SilenceAlert(v.Ctx(), rule, within, v.Actor))
}

func (s *Site) hearAlert(v *visit.Visit) error {
	rule, err := v.Target("rule")
	if err != nil {
		return err
	}
	return s.finish(v, once{target: rule, done: fmt.Sprintf("Alerts of %s are told again.", format.Shorten(rule, 60)),
		back: "alerts"}, v.Inspector.SilenceAlert(v.Ctx(), rule, 0, v.Actor))
}

// Since is when it began, where somebody keeps that.
func (r *alertRow) Since() time.Time { return r.Incident.Since }
