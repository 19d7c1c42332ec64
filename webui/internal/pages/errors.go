package pages

import (
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/causes"
	"github.com/265d0351/work/webui/internal/chart"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// causeRow is what jobs fail for, with what can be done about those of each name.
type causeRow struct {
	causes.Cause
	Spark chart.Spark
	Names []errorRow
}

// errorRow is the failures of one name, with what can be done about its jobs.
type errorRow struct {
	inspect.ErrorGroup
	Dead, Retrying jobs.Filter
}

// causeColumns are those by which causes can be sorted.
var causeColumns = []columns.Column[causeRow]{
	columns.Number("count", "Count", func(r *causeRow) int64 { return r.Count }),
	columns.Text("message", "Cause", func(r *causeRow) string { return r.Message }),
	columns.Time("last", "Last seen", func(r *causeRow) time.Time { return r.Last }).Down(),
	columns.Time("first", "First seen", func(r *causeRow) time.Time { return r.First }).Down(),
	columns.Flag("new", "New", func(r *causeRow) bool { return r.NewSince != nil }).
		Says("first seen after the last deploy"),
}

func (s *Site) showErrors(v *visit.Visit) error {
	name := v.Query.Get("name")
	found, more, err := v.Deploys.Causes(v.Ctx(), v.Inspector, name, jobs.Errors)
	if err != nil {
		return err
	}
	deploys, err := v.Deploys.Read(v.Ctx(), v.Inspector)
	if err != nil {
		return err
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	rows := make([]causeRow, len(found))
	for n, c := range found {
		rows[n] = newCauseRow(c)
	}
	heads := columns.Sort(v, rows, causeColumns)
	return s.show(v, "errors", page{Title: "Errors", Nav: "/errors", Now: counts.AsOf, Body: struct {
		Name    string
		Causes  []causeRow
		Columns columns.Heads
		Deploys []causes.Deploy
		More    int
	}{name, rows, heads, deploys[:min(len(deploys), shownDeploys)], more}})
}

// shownDeploys is how many services the page of errors tells the last deploy of.
const shownDeploys = 5

func newCauseRow(c causes.Cause) causeRow {
	row := causeRow{Cause: c, Spark: chart.NewSpark(c.Hours, "hour")}
	for _, g := range c.Groups {
		of := func(state work.State) jobs.Filter {
			return jobs.Filter{Selection: inspect.Selection{State: state, Name: g.Name, ErrorGroup: g.Digest}}
		}
		row.Names = append(row.Names, errorRow{g, of(work.StateDead), of(work.StateRetrying)})
	}
	return row
}
