package pages

import (
	"cmp"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/causes"
	"github.com/265d0351/work/webui/internal/chart"
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
var causeColumns = []sortable[causeRow]{
	{"count", "Count", "", true, true, func(a, b *causeRow) int { return cmp.Compare(a.Count, b.Count) }},
	{"message", "Cause", "", false, false, func(a, b *causeRow) int { return strings.Compare(a.Message, b.Message) }},
	{"last", "Last seen", "", false, true, func(a, b *causeRow) int { return a.Last.Compare(b.Last) }},
	{"first", "First seen", "", false, true, func(a, b *causeRow) int { return a.First.Compare(b.First) }},
	{"new", "New", "first seen after the last deploy", false, true, func(a, b *causeRow) int {
		return cmp.Compare(asInt(a.NewSince != nil), asInt(b.NewSince != nil))
	}},
}

func asInt(is bool) int {
	if is {
		return 1
	}
	return 0
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
	columns := sortBy(v, rows, causeColumns)
	return s.show(v, "errors", page{Title: "Errors", Nav: "/errors", Now: counts.AsOf, Body: struct {
		Name    string
		Causes  []causeRow
		Columns sorting
		Deploys []causes.Deploy
		More    int
	}{name, rows, columns, deploys[:min(len(deploys), shownDeploys)], more}})
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
