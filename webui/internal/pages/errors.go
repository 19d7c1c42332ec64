package pages

import (
	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/jobs"
	"github.com/265d0351/work/webui/internal/visit"
)

// errorRow is a kind of failure, with what can be done about its jobs.
type errorRow struct {
	inspect.ErrorGroup
	Dead, Retrying jobs.Filter
}

func (s *Site) showErrors(v *visit.Visit) error {
	name := v.Query.Get("name")
	groups, err := v.Inspector.Errors(v.Ctx(), name)
	if err != nil {
		return err
	}
	rows := make([]errorRow, 0, min(len(groups), jobs.Errors))
	for _, g := range groups[:min(len(groups), jobs.Errors)] {
		of := func(state work.State) jobs.Filter {
			return jobs.Filter{Selection: inspect.Selection{State: state, Name: g.Name, ErrorGroup: g.Digest}}
		}
		rows = append(rows, errorRow{g, of(work.StateDead), of(work.StateRetrying)})
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	return s.show(v, "errors", page{Title: "Errors", Nav: "/errors", Now: counts.AsOf, Body: struct {
		Name   string
		Groups []errorRow
		More   int
	}{name, rows, len(groups) - len(rows)}})
}
