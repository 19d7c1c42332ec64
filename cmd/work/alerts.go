package main

import (
	"context"
	"os/user"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/alerts"
)

// shownAlert is an alert with what is kept of its incident.
type shownAlert struct {
	alerts.Alert
	Since    time.Time `json:"since,omitzero"`
	Told     time.Time `json:"told,omitzero"`
	Silenced time.Time `json:"silenced,omitzero"` // until then
}

func newAlertsCommand(a *cli.App) *cobra.Command {
	cmd := a.Group("alerts", "Show what is wrong, and silence alerts")
	cmd.Long = `alerts lists what is wrong now, as the overview of the dashboard does, and whether somebody was told of it.
work ui --alert-url tells a webhook.`
	cmd.Example = "  work alerts\n  work alerts silence queues-unserved --for 8h"
	cmd.RunE = a.Runs(func(ctx context.Context, _ *cobra.Command, _ []string) error {
		return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error { return listAlerts(ctx, a, i) })
	})
	within := 8 * time.Hour
	silence := &cobra.Command{
		Use:   "silence RULE",
		Short: "Tell nobody of a rule of alerts for a time",
		Args:  cobra.ExactArgs(1),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if within <= 0 {
				return exit.Usagef("--for is %s: give a time above zero, as 8h, or end a silence by alerts hear",
					within)
			}
			return silenceAlert(ctx, a, args[0], within)
		}),
		ValidArgs: ruleNames(),
	}
	silence.Flags().DurationVar(&within, "for", within, "`time`, at most 2160h")
	hear := &cobra.Command{
		Use:   "hear RULE",
		Short: "Tell of a silenced rule again",
		Args:  cobra.ExactArgs(1),
		RunE: a.Runs(func(ctx context.Context, _ *cobra.Command, args []string) error {
			return silenceAlert(ctx, a, args[0], 0)
		}),
		ValidArgs: ruleNames(),
	}
	cmd.AddCommand(silence, hear)
	return cmd
}

func ruleNames() (names []string) {
	for _, rule := range alerts.Rules() {
		names = append(names, string(rule))
	}
	return names
}

func listAlerts(ctx context.Context, a *cli.App, i *inspect.Inspector) error {
	found, err := alerts.Look(ctx, i, time.Hour)
	if err != nil {
		return err
	}
	incidents, silences, err := i.Incidents(ctx)
	if err != nil {
		return err
	}
	shown := make([]shownAlert, len(found))
	for n, alert := range found {
		shown[n].Alert = alert
		for _, of := range incidents {
			if of.Rule == string(alert.Rule) {
				shown[n].Since, shown[n].Told = of.Since, of.Told
			}
		}
		for _, of := range silences {
			if of.Rule == string(alert.Rule) {
				shown[n].Silenced = of.Until
			}
		}
	}
	return console.List(a.Console(), shown, "nothing is wrong", alertTable)
}

func alertTable(shown []shownAlert) *console.Table {
	t := console.NewTable(console.ID("RULE"), console.Left("KIND"), console.Left("SINCE (UTC)"), console.Left("TOLD"),
		console.Left("SILENCED UNTIL"), console.Prose("WHAT"))
	for _, s := range shown {
		kind := "note"
		if s.Bad {
			kind = "alert"
		}
		t.Add(string(s.Rule), kind, human.Stamp(s.Since), human.Stamp(s.Told), human.Stamp(s.Silenced),
			human.Visible(s.Text))
	}
	return t
}

func silenceAlert(ctx context.Context, a *cli.App, rule string, within time.Duration) error {
	if !slices.Contains(alerts.Rules(), alerts.Rule(rule)) {
		return exit.Usagef("there is no rule %q of alerts: docs/dashboard.md lists them, and so does completion", rule)
	}
	return a.Inspect(ctx, func(ctx context.Context, i *inspect.Inspector) error {
		by := "the command line"
		if who, err := user.Current(); err == nil {
			by = who.Username + ", by the command line"
		}
		if err := i.SilenceAlert(ctx, rule, within, by); err != nil {
			return err
		}
		text := "Nobody is told of " + rule + " for " + human.Duration(within) + "."
		if within == 0 {
			text = "Alerts of " + rule + " are told again."
		}
		return a.Console().Tell(struct {
			Rule string `json:"rule"`
			For  string `json:"for"`
		}{rule, within.String()}, text)
	})
}
