package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
)

func newJobsStepsCommand(a *cli.App) *cobra.Command {
	var forget bool
	cmd := &cobra.Command{
		Use:   "steps ID",
		Short: "Show how far a job came that has steps, and what it waits for",
		Long: `steps prints the steps that a job has done, what it sleeps or waits for, and the messages that it was sent
and has not asked for. With --forget it forgets its steps and does all of them again, also what has cost
something; other args can be given to it only then.`,
		Example: `  work jobs steps import-7
  work jobs steps import-7 --json | jq .waits`,
		Args: cli.Exactly(1, "the id of one job"),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				if forget {
					return forgetSteps(ctx, a, i, args[0])
				}
				steps, err := i.Steps(ctx, args[0])
				if err != nil {
					return err
				}
				return a.Console().Show(steps, func(c *console.Console) []string { return stepLines(c, &steps) })
			})
		}),
	}
	cmd.Flags().BoolVar(&forget, "forget", false, "have it forget its steps, and do them again")
	return cmd
}

// forgotten is what --forget has done.
type forgotten struct {
	ID    string `json:"id"`
	Steps int    `json:"forgotten"`
}

func forgetSteps(ctx context.Context, a *cli.App, i *inspect.Inspector, id string) error {
	n, err := i.ForgetSteps(ctx, id)
	if err != nil {
		return err
	}
	return a.Console().Show(forgotten{id, n}, func(*console.Console) []string {
		return []string{fmt.Sprintf("%s forgotten of %s", human.Counted(n, "step"), human.Visible(id))}
	})
}

// stepLines are the steps for a person.
func stepLines(c *console.Console, steps *inspect.Steps) (lines []string) {
	if len(steps.Done) > 0 {
		t := console.NewTable(console.Left("STEP"), console.Left("KIND"), console.Left("AT"), console.Right("TOOK"),
			console.Right("BYTES"))
		for _, step := range steps.Done {
			took := "-"
			if step.Took > 0 {
				took = human.Duration(step.Took)
			}
			t.Add(human.Visible(step.Name), step.Kind, step.At.UTC().Format("2006-01-02 15:04:05"), took,
				human.Grouped(int64(step.Bytes)))
		}
		lines = append(lines, t.Render(c)...)
	}
	for _, wait := range steps.Waits {
		lines = append(lines, human.Visible(wait.String()))
	}
	for _, m := range steps.Mailbox {
		lines = append(lines, fmt.Sprintf("message %s of %s is kept until it asks", human.Visible(m.Name),
			m.Sent.UTC().Format("2006-01-02 15:04:05")))
	}
	if len(lines) == 0 {
		lines = []string{"no steps"}
	}
	return lines
}

// stepsOf are the lines about the steps of a job that may have some.
func stepsOf(ctx context.Context, i *inspect.Inspector, c *console.Console, job *inspect.JobInfo) []string {
	if !job.HasState || job.State.Ended() {
		return nil
	}
	steps, err := i.Steps(ctx, job.ID)
	switch {
	case errors.Is(err, work.ErrNotFound): // it has ended since
		return nil
	case err != nil:
		return []string{human.Visible(err.Error())}
	case len(steps.Done)+len(steps.Waits)+len(steps.Mailbox) == 0:
		return nil
	}
	return stepLines(c, &steps)
}

func newJobsSendCommand(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "send ID NAME [JSON]",
		Short: "Send a message to a job, which it gets when it asks for it",
		Long: `send puts a message into the mailbox of a job that has not ended, before or after the job asks for one of
that name (work.Receive). Without JSON the message is null.`,
		Example: `  work jobs send import-7 approval '{"By": "ann"}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 || len(args) > 3 {
				return exit.Usagef("give the id of a job, the name of a message, and JSON if there is any")
			}
			return nil
		},
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			message := json.RawMessage("null")
			if len(args) == 3 {
				message = json.RawMessage(args[2])
			}
			if !json.Valid(message) {
				return exit.Usagef("%s is not JSON: put text into quotes, as '\"yes\"'", human.Visible(string(message)))
			}
			return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
				return i.Send(ctx, args[0], args[1], message)
			})
		}),
	}
}
