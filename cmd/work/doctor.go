package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
)

// doctorFlags are those of doctor alone.
type doctorFlags struct {
	repair bool
	yes    bool
	full   bool
}

// someEntries is how many entries of each key are examined without --full.
const someEntries = 200_000

// limit is that of the examination; 0 is none.
func (f doctorFlags) limit() int {
	if f.full {
		return 0
	}
	return someEntries
}

func newDoctorCommand(a *cli.App) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong in Redis, and mend it",
		Long: `doctor examines the whole namespace, also while workers are at it, in steps that do not hold Redis
up, and prints what is wrong with what to do about it. It says first how much it will read: of a key with
more than 200,000 entries, jobs or ids, that many, and with --full all of them. With --repair it mends what it
can: each fault by one script that looks again first. docs/doctor.md explains each finding.

Exit status: 0 no errors (there may be warnings), 1 errors that are not repaired, 2 a mistake in
flags or arguments.`,
		Example: `  work doctor --redis redis://localhost:6379/0 --namespace shop
  work doctor --full
  work doctor --repair --yes
  work doctor --json | jq '.findings[].check'`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, _ []string) error { return runDoctor(ctx, a, f) }),
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.repair, "repair", false, "mend what can be mended; asks first")
	flags.BoolVar(&f.full, "full", false, "examine all, however much that is")
	flags.BoolVarP(&f.yes, "yes", "y", false, "with --repair: do not ask")
	return cmd
}

// errUnhealthy says that errors were found; what they are is printed already.
var errUnhealthy = errors.New("the namespace has errors")

// runDoctor runs the command.
func runDoctor(ctx context.Context, a *cli.App, f doctorFlags) error {
	if err := a.NeedRedis(); err != nil {
		return err
	}
	if f.yes && !f.repair {
		return exit.Usagef("--yes is given without --repair: nothing would be asked")
	}
	if f.repair && !f.yes {
		if err := a.Console().Confirm(fmt.Sprintf(
			"mend what is wrong in namespace %s? It is best to look first, without --repair.",
			a.Namespace)); err != nil {
			return err
		}
	}
	inspector, err := inspect.New(a.Redis, work.Namespace(a.Namespace))
	if err != nil {
		return &exit.UsageError{Err: err}
	}
	diagnosis, err := diagnose(ctx, a, inspector, f)
	if closeErr := inspector.Close(); err == nil {
		err = closeErr
	}
	if shown := showDiagnosis(a, diagnosis, f.repair, err == nil); err == nil {
		err = shown
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return interrupt.Err
	case err == nil && !diagnosis.Healthy():
		return errUnhealthy
	}
	return err
}

// diagnose shows how far it is where somebody watches.
func diagnose(ctx context.Context, a *cli.App, inspector *inspect.Inspector, f doctorFlags) (*doctor.Diagnosis, error) {
	c := a.Console()
	options := doctor.Options{Repair: f.repair, Limit: f.limit()}
	if err := sayHowMuch(ctx, a, inspector, options.Limit); err != nil {
		return &doctor.Diagnosis{}, err
	}
	if c.ErrWidth > 0 && !c.Quiet {
		shown := console.NewBar(c, "examined", 0)
		options.Progress = func(done, total int) {
			shown.SetTotal(total)
			shown.Set(done)
		}
		defer shown.Clear()
	}
	return doctor.Examine(ctx, inspector, options)
}

// doctorEntriesPerSecond is about how many entries are examined in a second.
const doctorEntriesPerSecond = 50_000

// sayHowMuch tells beforehand what an examination will read, where that takes more than a second.
func sayHowMuch(ctx context.Context, a *cli.App, inspector *inspect.Inspector, limit int) error {
	all, err := doctor.Size(ctx, inspector, 0)
	if err != nil {
		return err
	}
	some, err := doctor.Size(ctx, inspector, limit)
	if err != nil || some < doctorEntriesPerSecond {
		return err
	}
	text := fmt.Sprintf("%s entries are to be examined, which takes about %s", human.Number(some),
		(time.Duration(1+some/doctorEntriesPerSecond) * time.Second).String())
	if some < all {
		text = fmt.Sprintf("%s of %s; --full examines all, in about %s", text, human.Number(all),
			(time.Duration(1+all/doctorEntriesPerSecond) * time.Second).String())
	}
	a.Console().Note("%s", text)
	return nil
}

// showDiagnosis prints what was found. One that was cut short is shown as far as it went.
func showDiagnosis(a *cli.App, d *doctor.Diagnosis, repair, complete bool) error {
	if a.JSON {
		if !complete {
			return nil // half of it would be taken for all of it
		}
		return json.NewEncoder(a.Out).Encode(reported{Healthy: d.Healthy(), Diagnosis: d})
	}
	c := a.Console()
	lines := findingLines(c, d)
	if complete && !(a.Quiet && len(lines) == 0) {
		lines = append(lines, conclusion(c, d, repair)...)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(a.Out, line); err != nil {
			return err
		}
	}
	return nil
}

// reported is what is printed as JSON.
type reported struct {
	Healthy bool `json:"healthy"`
	*doctor.Diagnosis
}

// mostShown is how many findings of one check are printed; JSON has more.
const mostShown = 20

// findingLines are the findings, by check, the worst ones first.
func findingLines(c *console.Console, d *doctor.Diagnosis) []string {
	var lines []string
	for _, severity := range []doctor.Severity{doctor.SeverityError, doctor.SeverityWarning, doctor.SeverityInfo} {
		for _, group := range groupFindings(d, severity) {
			lines = append(lines, groupLines(c, d, group)...)
		}
	}
	return lines
}

// groupFindings are the findings of one severity and not yet shown, one group for each check and remedy.
func groupFindings(d *doctor.Diagnosis, severity doctor.Severity) [][]doctor.Finding {
	type kind struct {
		check  doctor.Check
		remedy string
	}
	var groups [][]doctor.Finding
	at := map[kind]int{}
	for _, f := range d.Findings {
		if f.Severity != severity {
			continue
		}
		of := kind{f.Check, f.Remedy}
		if _, seen := at[of]; !seen {
			at[of] = len(groups)
			groups = append(groups, nil)
		}
		groups[at[of]] = append(groups[at[of]], f)
	}
	return groups
}

// groupLines are a title, the findings of a group, and what to do about them.
func groupLines(c *console.Console, d *doctor.Diagnosis, group []doctor.Finding) []string {
	first := group[0]
	colour := map[doctor.Severity]console.Style{doctor.SeverityError: console.Red, doctor.SeverityWarning: console.Bold,
		doctor.SeverityInfo: console.Faint}[first.Severity]
	title := fmt.Sprintf("%s  %s  %s", first.Severity, first.Check, human.Counted(len(group), "finding"))
	if more := d.More[first.Check]; more > 0 {
		title += fmt.Sprintf(", and %s more of this check", human.Grouped(int64(more)))
	}
	lines := []string{c.Paint(colour, title)}
	for _, f := range group[:min(len(group), mostShown)] {
		lines = append(lines, c.Indent(findingText(f))...)
	}
	if hidden := len(group) - mostShown; hidden > 0 {
		lines = append(lines, c.Indent(fmt.Sprintf("... and %s more: --json lists them",
			human.Grouped(int64(hidden))))...)
	}
	if first.Remedy != "" {
		lines = append(lines, c.Indent("-> "+first.Remedy)...)
	}
	return append(lines, "")
}

// findingText is one finding in one line: what it is about, what was found, and what was done.
func findingText(f doctor.Finding) string {
	var about []string
	if f.ID != "" {
		about = append(about, human.Printable(f.ID))
	}
	if f.Queue != "" {
		about = append(about, "("+human.Printable(f.Queue)+")")
	}
	if f.Key != "" {
		about = append(about, human.Printable(f.Key))
	}
	text := f.Detail
	if len(about) > 0 {
		text = strings.Join(about, " ") + ": " + text
	}
	if f.Repaired {
		text += " [repaired]"
	}
	return text
}

// conclusion is what stands at the end.
func conclusion(c *console.Console, d *doctor.Diagnosis, repair bool) []string {
	counts, repaired := map[doctor.Severity]int{}, 0
	for _, f := range d.Findings {
		if f.Repaired {
			repaired++
		} else {
			counts[f.Severity]++
		}
	}
	word, colour := "not healthy", console.Red
	if d.Healthy() {
		word, colour = "healthy", console.Green
	}
	text := fmt.Sprintf("%s: %s, %s", word, human.Counted(counts[doctor.SeverityError], "error"),
		human.Counted(counts[doctor.SeverityWarning], "warning"))
	if repair {
		text += fmt.Sprintf(", %s repaired", human.Grouped(int64(repaired)))
	}
	text += fmt.Sprintf(" (%s, %s with jobs, %s)", human.Counted(d.Jobs, "job"), human.Counted(d.Queues, "queue"),
		human.Counted(d.Workers, "worker"))
	if d.Unread > 0 {
		text += fmt.Sprintf("; %s entries were not examined: give --full", human.Grouped(int64(d.Unread)))
	}
	lines := human.Wrap(text, c.Width)
	if rest, whole := strings.CutPrefix(lines[0], word); whole {
		lines[0] = c.Paint(colour, word) + rest
	}
	return lines
}
