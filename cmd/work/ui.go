package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui"
)

// uiFlags say who sees the dashboard.
type uiFlags struct {
	listen   string
	user     string
	password string
	readOnly bool
}

func newUICommand(a *app) *cobra.Command {
	var f uiFlags
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve the dashboard to browsers, until Ctrl-C",
		Long: `ui serves the dashboard of a namespace, prints its address, and ends in good order at Ctrl-C. What people do
there is logged to standard error.

Without a user it is for this machine alone: it refuses to listen on any other address. With --user and --password
browsers ask for them; over a network put a server before it that speaks HTTPS, since the password goes with each request.
Others can see the flags of a program: the environment is the better place for a password.`,
		Example: `  work ui
  work ui --read-only --listen 127.0.0.1:8080
  WORK_UI_USER=ann WORK_UI_PASSWORD=secret work ui --listen 0.0.0.0:7788`,
		Args: atMost(0, "no argument"),
		RunE: a.runs(func(ctx context.Context, _ *cobra.Command, _ []string) error { return a.ui(ctx, f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7788", "`address` to listen on; port 0 is a free one")
	flags.StringVar(&f.user, "user", os.Getenv("WORK_UI_USER"), "`name` to log in with (env WORK_UI_USER)")
	flags.StringVar(&f.password, "password", os.Getenv("WORK_UI_PASSWORD"), "`password` to log in with (env WORK_UI_PASSWORD)")
	flags.BoolVar(&f.readOnly, "read-only", false, "show all, and let nobody change anything")
	flags.Lookup("user").DefValue, flags.Lookup("password").DefValue = "", "" // help prints defaults
	return cmd
}

// authorizer is who may come in: this machine, or who knows the password.
func (f uiFlags) authorizer() (webui.Authorizer, error) {
	near, err := isLoopback(f.listen)
	switch {
	case err != nil:
		return nil, err
	case f.user == "" && f.password == "" && near:
		return webui.Loopback, nil
	case f.user == "" && f.password == "":
		return nil, usagef("--listen %s is open to other machines: give --user and --password, or listen on 127.0.0.1", f.listen)
	case f.user == "" || f.password == "":
		return nil, usagef("--user and --password go together: give both, or set WORK_UI_USER and WORK_UI_PASSWORD")
	}
	authorize, err := webui.BasicAuth(webui.Login{User: f.user, Password: f.password, Role: webui.RoleOperator})
	if err != nil {
		return nil, &usageError{err: err}
	}
	return authorize, nil
}

func (a *app) ui(ctx context.Context, f uiFlags) error {
	authorize, err := f.authorizer()
	if err != nil {
		return err
	}
	return a.inspect(ctx, func(ctx context.Context, inspector *work.Inspector) (err error) {
		if _, err := inspector.Counts(ctx); err != nil {
			return err // a wrong DSN is found now, not by the first who looks
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
		if err != nil {
			return fmt.Errorf("the dashboard cannot be served: %w", err)
		}
		enqueuer, err := a.enqueuer()
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer func() { err = errors.Join(err, enqueuer.Close()) }()
		page := serveDashboard(listener, inspector, webui.Options{
			Title: a.namespace, Authorize: authorize, ReadOnly: f.readOnly, Enqueuer: enqueuer, Logger: slog.New(slog.NewTextHandler(a.err, nil)),
		})
		err = a.sayAddress(page.address)
		if err == nil {
			err = page.wait(ctx)
		}
		if closeErr := page.close(a.hurry); err == nil {
			err = closeErr
		}
		return err
	})
}

// sayAddress prints it for a person or a program.
func (a *app) sayAddress(address string) error {
	var err error
	switch {
	case a.json:
		err = json.NewEncoder(a.out).Encode(struct {
			Address   string `json:"address"`
			Namespace string `json:"namespace"`
		}{address, a.namespace})
	case !a.quiet:
		_, err = fmt.Fprintf(a.out, "The dashboard of namespace %s is at %s until Ctrl-C.\n", visible(a.namespace), address)
	}
	return err
}
