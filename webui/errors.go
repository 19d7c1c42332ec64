package webui

import "github.com/265d0351/work"

// errorRow is a kind of failure, with what can be done about its jobs.
type errorRow struct {
	work.ErrorGroup
	Dead, Retrying filter
}

const errorsShown = 200

func showErrors(v *visit) error {
	name := v.query.Get("name")
	groups, err := v.inspector.Errors(v.ctx(), name)
	if err != nil {
		return err
	}
	rows := make([]errorRow, 0, min(len(groups), errorsShown))
	for _, g := range groups[:min(len(groups), errorsShown)] {
		of := func(state work.State) filter {
			return filter{Selection: work.Selection{State: state, Name: g.Name, ErrorGroup: g.Digest}}
		}
		rows = append(rows, errorRow{g, of(work.StateDead), of(work.StateRetrying)})
	}
	counts, err := v.inspector.Counts(v.ctx())
	if err != nil {
		return err
	}
	return v.show("errors", page{Title: "Errors", Nav: "/errors", Now: counts.AsOf, Body: struct {
		Name   string
		Groups []errorRow
		More   int
	}{name, rows, len(groups) - len(rows)}})
}
