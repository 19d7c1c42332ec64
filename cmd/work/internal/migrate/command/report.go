package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
)

// tell prints what came over, and beside the output what did not and why.
func tell(a *cli.App, r *migrate.Report) error {
	c := a.Console()
	verb := "came over"
	if r.DryRun {
		verb = "would come over"
	}
	text := fmt.Sprintf("%s of %s %s", human.Counted(r.Total, "job"), r.From, verb)
	if kinds := byKind(r.Moved); kinds != "" {
		text += " (" + kinds + ")"
	}
	if err := c.Tell(r, text); err != nil || a.JSON {
		return err
	}
	for _, change := range slices.Sorted(maps.Keys(r.Changed)) {
		c.Note("%s: %s", human.Counted(r.Changed[change], "job"), human.Visible(change))
	}
	for _, note := range r.Notes {
		c.Note("%s", human.Visible(note))
	}
	tellNamed(a, r.Twins, r.TwinIDs, "not stored, since another one lives")
	tellNamed(a, r.Refused, r.RefusedIDs, "cannot come over and stay where they are")
	if kinds := byKind(r.Left); kinds != "" {
		c.Note("on the old side: %s", kinds)
	}
	return nil
}

// byKind is "3 queued, 2 dead".
func byKind(counts map[ledger.Kind]int) string {
	var parts []string
	for _, kind := range ledger.Kinds {
		if n := counts[kind]; n > 0 {
			parts = append(parts, human.Number(n)+" "+string(kind))
		}
	}
	return strings.Join(parts, ", ")
}

// tellNamed says of the first ones why, also where only what is wrong is wanted.
func tellNamed(a *cli.App, total int, named []migrate.Named, what string) {
	const most = 10
	if total == 0 {
		return
	}
	c := a.Console()
	fmt.Fprintf(c.Err, "%s: %s: %s\n", c.Command, human.Counted(total, "job"), what)
	for _, job := range named[:min(len(named), most)] {
		fmt.Fprintf(c.Err, "  %s in %s: %s\n", human.OrDash(job.ID), human.Visible(job.Where),
			human.Visible(job.Reason))
	}
	if total > most {
		fmt.Fprintf(c.Err, "  and %s more\n", human.Number(total-most))
	}
}
