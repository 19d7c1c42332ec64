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

func newDoctorCommand(a *app) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find what is wrong in Redis, and mend it",
		Long: `doctor examines the whole namespace, also while workers are at it, in steps that do not hold Redis
up, and prints what is wrong with what to do about it. It says first how much it will read: of a key with
more than 200,000 entries, jobs or ids, that many, and with --full all of them. With --repair it mends what it can: each fault
by one script that looks again first. docs/doctor.md explains each finding.

Exit status: 0 no errors (there may be warnings), 1 errors that are not repaired, 2 a mistake in
flags or arguments.`,
		Example: `  work doctor --redis redis://localhost:6379/0 --namespace shop
  work doctor --full
  work doctor --repair --yes
  work doctor --json | jq '.findings[].check'`,
		Args: atMost(0, "no argument"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.doctor(ctx, f) }),
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.repair, "repair", false, "mend what can be mended; asks first")
	flags.BoolVar(&f.full, "full", false, "examine all, however much that is")
	flags.BoolVarP(&f.yes, "yes", "y", false, "with --repair: do not ask")
	return cmd
}

// errUnhealthy says that errors were found; what they are is printed already.
var errUnhealthy = errors.New("the namespace has errors")

// doctor runs the command.
func (a *app) doctor(ctx context.Context, f doctorFlags) error {
	if err := a.needRedis(); err != nil {
		return err
	}
	if f.yes && !f.repair {
		return usagef("--yes is given without --repair: nothing would be asked")
	}
	if f.repair && !f.yes {
		if err := a.confirm(fmt.Sprintf(
			"mend what is wrong in namespace %s? It is best to look first, without --repair.",
			a.namespace)); err != nil {
			return err
		}
	}
	inspector, err := work.NewInspector(a.redis, work.Namespace(a.namespace))
	if err != nil {
		return &usageError{err: err}
	}
	diagnosis, err := a.diagnose(ctx, inspector, f)
	if closeErr := inspector.Close(); err == nil {
		err = closeErr
	}
	if shown := a.showDiagnosis(diagnosis, f.repair, err == nil); err == nil {
		err = shown
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return errInterrupted
	case err == nil && !diagnosis.Healthy():
		return errUnhealthy
	}
	return err
}

// diagnose shows how far it is where somebody watches.
func (a *app) diagnose(ctx context.Context, inspector *work.Inspector, f doctorFlags) (*work.Diagnosis, error) {
	c := newConsole(a)
	options := work.DoctorOptions{Repair: f.repair, Limit: f.limit()}
	if err := a.sayHowMuch(ctx, inspector, options.Limit); err != nil {
		return &work.Diagnosis{}, err
	}
	if c.errWidth > 0 && !c.quiet {
		shown := newBar(c, "examined", 0)
		options.Progress = func(done, total int) {
			shown.drawn.ChangeMax(total)
			shown.set(done)
		}
		defer shown.clear()
	}
	return inspector.Doctor(ctx, options)
}

// examinePace is about how many entries are examined in a second.
const examinePace = 50_000

// sayHowMuch tells beforehand what an examination will read, where that takes more than a moment.
func (a *app) sayHowMuch(ctx context.Context, inspector *work.Inspector, limit int) error {
	all, err := inspector.DoctorSize(ctx, 0)
	if err != nil {
		return err
	}
	some, err := inspector.DoctorSize(ctx, limit)
	if err != nil || some < examinePace {
		return err
	}
	text := fmt.Sprintf("%s entries are to be examined, which takes about %s", number(some),
		(time.Duration(1+some/examinePace) * time.Second).String())
	if some < all {
		text = fmt.Sprintf("%s of %s; --full examines all, in about %s", text, number(all),
			(time.Duration(1+all/examinePace) * time.Second).String())
	}
	a.note("%s", text)
	return nil
}

// showDiagnosis prints what was found. One that was cut short is shown as far as it went.
func (a *app) showDiagnosis(d *work.Diagnosis, repair, complete bool) error {
	if a.json {
		if !complete {
			return nil // half of it would be taken for all of it
		}
		return json.NewEncoder(a.out).Encode(reported{Healthy: d.Healthy(), Diagnosis: d})
	}
	c := newConsole(a)
	lines := findingLines(c, d)
	if complete && !(a.quiet && len(lines) == 0) {
		lines = append(lines, verdict(c, d, repair)...)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(a.out, line); err != nil {
			return err
		}
	}
	return nil
}

// reported is what is printed as JSON.
type reported struct {
	Healthy bool `json:"healthy"`
	*work.Diagnosis
}

// mostShown is how many findings of one check are printed; JSON has more.
const mostShown = 20

// findingLines are the findings, by check, the worst ones first.
func findingLines(c *console, d *work.Diagnosis) []string {
	var lines []string
	for _, severity := range []work.Severity{work.SeverityError, work.SeverityWarning, work.SeverityInfo} {
		for _, group := range groupFindings(d, severity) {
			lines = append(lines, groupLines(c, d, group)...)
		}
	}
	return lines
}

// groupFindings are the findings of one severity and not yet shown, one group for each check and remedy.
func groupFindings(d *work.Diagnosis, severity work.Severity) [][]work.Finding {
	type kind struct {
		check  work.Check
		remedy string
	}
	var groups [][]work.Finding
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
func groupLines(c *console, d *work.Diagnosis, group []work.Finding) []string {
	first := group[0]
	colour := map[work.Severity]style{work.SeverityError: red, work.SeverityWarning: bold,
		work.SeverityInfo: faint}[first.Severity]
	title := fmt.Sprintf("%s  %s  %s", first.Severity, first.Check, counted(len(group), "finding"))
	if more := d.More[first.Check]; more > 0 {
		title += fmt.Sprintf(", and %s more of this check", grouped(int64(more)))
	}
	lines := []string{c.paint(colour, title)}
	for _, f := range group[:min(len(group), mostShown)] {
		lines = append(lines, indented(c, findingText(f))...)
	}
	if hidden := len(group) - mostShown; hidden > 0 {
		lines = append(lines, indented(c, fmt.Sprintf("... and %s more: --json lists them", grouped(int64(hidden))))...)
	}
	if first.Remedy != "" {
		lines = append(lines, indented(c, "-> "+first.Remedy)...)
	}
	return append(lines, "")
}

// findingText is one finding in one line: what it is about, what was found, and what was done.
func findingText(f work.Finding) string {
	var about []string
	if f.ID != "" {
		about = append(about, printable(f.ID))
	}
	if f.Queue != "" {
		about = append(about, "("+printable(f.Queue)+")")
	}
	if f.Key != "" {
		about = append(about, printable(f.Key))
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

// indented folds a text for the terminal, two columns in.
func indented(c *console, text string) []string {
	width := 0
	if c.width > 0 {
		width = max(c.width-2, 1)
	}
	lines := fold(text, width)
	for i, line := range lines {
		lines[i] = "  " + line
	}
	return lines
}

// verdict is what stands at the end.
func verdict(c *console, d *work.Diagnosis, repair bool) []string {
	counts, repaired := map[work.Severity]int{}, 0
	for _, f := range d.Findings {
		if f.Repaired {
			repaired++
		} else {
			counts[f.Severity]++
		}
	}
	word, colour := "not healthy", red
	if d.Healthy() {
		word, colour = "healthy", green
	}
	text := fmt.Sprintf("%s: %s, %s", word, counted(counts[work.SeverityError], "error"),
		counted(counts[work.SeverityWarning], "warning"))
	if repair {
		text += fmt.Sprintf(", %s repaired", grouped(int64(repaired)))
	}
	text += fmt.Sprintf(" (%s, %s with jobs, %s)", counted(d.Jobs, "job"), counted(d.Queues, "queue"),
		counted(d.Workers, "worker"))
	if d.Unread > 0 {
		text += fmt.Sprintf("; %s entries were not examined: give --full", grouped(int64(d.Unread)))
	}
	lines := fold(text, c.width)
	if rest, whole := strings.CutPrefix(lines[0], word); whole {
		lines[0] = c.paint(colour, word) + rest
	}
	return lines
}
