package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/alerts"
)

// alertFlags say where alerts are sent.
type alertFlags struct {
	url, urlFile string
	secret       string
	shape        string
	link         string
	after        time.Duration
	notes        bool
}

func (f *alertFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.url, "alert-url", os.Getenv("WORK_UI_ALERT_URL"),
		"`address` of a webhook that is told what is wrong (env WORK_UI_ALERT_URL)")
	flags.StringVar(&f.urlFile, "alert-url-file", "", "`file` with that address, which may be a secret")
	flags.StringVar(&f.shape, "alert-shape", "json",
		"`what` is posted: json, slack, pagerduty, or the file of a template")
	flags.StringVar(&f.secret, "alert-key", os.Getenv("WORK_UI_ALERT_KEY"),
		"`key` of the integration of PagerDuty (env WORK_UI_ALERT_KEY)")
	flags.StringVar(&f.link, "alert-link", "", "`address` at which people find this dashboard, for links")
	flags.DurationVar(&f.after, "alert-after", time.Minute, "`time` that something must last before it is told")
	flags.BoolVar(&f.notes, "alert-notes", false, "tell notes too, such as a paused queue")
	for _, secret := range []string{"alert-url", "alert-key"} {
		flags.Lookup(secret).DefValue = ""
	}
}

// options are nil where nothing is sent.
func (f *alertFlags) options(a *cli.App, cmd *cobra.Command, logger *slog.Logger) (opts *alerts.Options, err error) {
	a.WarnOfSecret(cmd, "alert-key", "WORK_UI_ALERT_KEY")
	if f.urlFile != "" {
		if f.url, err = cli.ReadSecret("alert-url-file", f.urlFile); err != nil {
			return nil, err
		}
	}
	shape := alerts.Shape("")
	switch f.shape {
	case "json":
		shape = alerts.ShapeJSON
	case "slack":
		shape = alerts.ShapeSlack
	case "pagerduty":
		shape = alerts.ShapePagerDuty
	default:
		text, err := os.ReadFile(f.shape)
		if err != nil {
			return nil, exit.Usagef("--alert-shape is %q: give json, slack, pagerduty, or the file of a template",
				f.shape)
		}
		shape = alerts.Shape(text)
	}
	if f.url == "" && shape != alerts.ShapePagerDuty {
		if cmd.Flags().Changed("alert-shape") {
			return nil, exit.Usagef("--alert-shape needs an address: give --alert-url")
		}
		return nil, nil
	}
	return &alerts.Options{URL: f.url, Shape: shape, Secret: f.secret, Link: f.link, After: f.after, Notes: f.notes,
		Logger: logger}, nil
}

// watched is a namespace whose alerts are sent.
type watched struct {
	inspector *inspect.Inspector
	link      string // below that of the options
}

// sendAlerts does so while do goes on. What cannot be used ends it at once.
func sendAlerts(ctx context.Context, opts *alerts.Options, of []watched, do func(context.Context) error) error {
	if opts == nil {
		return do(ctx)
	}
	ctx, end := context.WithCancelCause(ctx)
	var sending sync.WaitGroup
	failed := make([]error, len(of))
	for n, w := range of {
		sending.Go(func() {
			opts := *opts
			if opts.Link != "" {
				opts.Link = strings.TrimSuffix(opts.Link, "/") + "/" + w.link
			}
			if err := alerts.Send(ctx, w.inspector, opts); err != nil {
				failed[n] = &exit.UsageError{Err: err}
				end(err)
			}
		})
	}
	err := do(ctx)
	end(nil)
	sending.Wait()
	return errors.Join(append(failed, err)...)
}
