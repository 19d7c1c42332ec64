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

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/dashboard"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
)

// uiFlags say who sees the dashboard.
type uiFlags struct {
	listen   string
	user     string
	password string
	token    string
	files    struct{ password, token string }
	trusting bool
	readOnly bool
}

func newUICommand(a *cli.App) *cobra.Command {
	var f uiFlags
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Serve the dashboard to browsers, until Ctrl-C",
		Long: `ui serves the dashboard of a namespace, prints its address, and ends in good order at Ctrl-C. What people do
there is logged to standard error.

Who comes in needs a token: the address that is printed has a new one in it, which a browser keeps as a cookie. Or give
one with --token, for programs too ("Authorization: Bearer ..."), or a login with --user and --password, which browsers
ask for. One of these it wants on an address that other machines can reach; put a server before it there that speaks
HTTPS. Others can see the flags of a program: the environment, --token-file and --password-file are the better places
for a token or a password.`,
		Example: `  work ui
  work ui --read-only --listen 127.0.0.1:8080
  WORK_UI_USER=ann WORK_UI_PASSWORD=secret work ui --listen 0.0.0.0:7788`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			a.WarnOfSecret(cmd, "password", "WORK_UI_PASSWORD or --password-file")
			a.WarnOfSecret(cmd, "token", "WORK_UI_TOKEN or --token-file")
			if err := f.readFiles(); err != nil {
				return err
			}
			return serveUI(ctx, a, f)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "127.0.0.1:7788", "`address` to listen on; port 0 is a free one")
	flags.StringVar(&f.user, "user", os.Getenv("WORK_UI_USER"), "`name` to log in with (env WORK_UI_USER)")
	flags.StringVar(&f.password, "password", os.Getenv("WORK_UI_PASSWORD"),
		"`password` to log in with (env WORK_UI_PASSWORD)")
	flags.StringVar(&f.token, "token", os.Getenv("WORK_UI_TOKEN"),
		"`secret` to come in with instead of a new one, of 16 bytes or more (env WORK_UI_TOKEN)")
	flags.StringVar(&f.files.password, "password-file", "", "`file` with the password to log in with")
	flags.StringVar(&f.files.token, "token-file", "", "`file` with the token")
	flags.BoolVar(&f.trusting, "insecure-loopback", false,
		"let in whoever connects from this machine, with no token: behind a proxy that can be everybody")
	flags.BoolVar(&f.readOnly, "read-only", false, "show all, and let nobody change anything")
	for _, secret := range []string{"user", "password", "token"} {
		flags.Lookup(secret).DefValue = "" // help prints defaults
	}
	return cmd
}

// readFiles takes the secrets from files where there are some.
func (f *uiFlags) readFiles() (err error) {
	for _, from := range []struct {
		flag, path string
		into       *string
	}{{"password-file", f.files.password, &f.password}, {"token-file", f.files.token, &f.token}} {
		if from.path == "" {
			continue
		}
		if *from.into, err = cli.ReadSecret(from.flag, from.path); err != nil {
			return err
		}
	}
	return nil
}

// authorizer is who may come in: who knows the password, or the token. One that is made for this start is returned as
// well.
func (f uiFlags) authorizer() (authorize webui.Authorizer, fresh string, err error) {
	near, err := dashboard.IsLoopback(f.listen)
	login := f.user != "" || f.password != ""
	switch {
	case err != nil:
		return nil, "", err
	case login && (f.user == "" || f.password == ""):
		return nil, "",
			exit.Usagef("--user and --password go together: give both, or set WORK_UI_USER and WORK_UI_PASSWORD")
	case login && f.token != "", f.trusting && (login || f.token != ""):
		return nil, "",
			exit.Usagef("there is more than one way to come in: give --token, or --user and --password, or " +
				"--insecure-loopback")
	case !login && f.token == "" && !near:
		return nil, "",
			exit.Usagef("--listen %s is open to other machines: give --token, or --user and --password, or listen "+
				"on 127.0.0.1", f.listen)
	case f.trusting:
		return webui.InsecureLoopback, "", nil
	case login:
		authorize, err = webui.BasicAuth(webui.Login{User: f.user, Password: f.password, Role: webui.RoleOperator})
	case f.token != "":
		authorize, err = webui.TokenAuth(f.token, webui.RoleOperator)
	default:
		return dashboard.FreshToken()
	}
	if err != nil {
		err = &exit.UsageError{Err: err}
	}
	return authorize, "", err
}

func serveUI(ctx context.Context, a *cli.App, f uiFlags) error {
	authorize, token, err := f.authorizer()
	if err != nil {
		return err
	}
	if token != "" && a.Quiet && !a.JSON {
		return exit.Usagef("--quiet does not print the token that one needs to come in: give one with --token or " +
			"WORK_UI_TOKEN")
	}
	return a.Inspect(ctx, func(ctx context.Context, inspector *inspect.Inspector) (err error) {
		if _, err := inspector.Counts(ctx); err != nil {
			return err // a wrong DSN is found now, not by the first who looks
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.listen)
		if err != nil {
			return fmt.Errorf("the dashboard cannot be served: %w", err)
		}
		enqueuer, err := a.Enqueuer()
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		defer func() { err = errors.Join(err, enqueuer.Close()) }()
		page := dashboard.Serve(listener, inspector, webui.Options{
			Title: a.Namespace, Authorize: authorize, ReadOnly: f.readOnly, Enqueuer: enqueuer,
			Logger: slog.New(slog.NewTextHandler(a.Err, nil)),
		})
		err = sayAddress(a, page.Address, token)
		if err == nil {
			err = page.Wait(ctx)
		}
		if closeErr := page.Close(a.Hurry); err == nil {
			err = closeErr
		}
		return err
	})
}

// sayAddress prints it for a person or a program, with the token if nobody knows it yet.
func sayAddress(a *cli.App, address, token string) error {
	var err error
	switch {
	case a.JSON:
		err = json.NewEncoder(a.Out).Encode(struct {
			Address   string `json:"address"`
			Namespace string `json:"namespace"`
			Token     string `json:"token,omitempty"`
		}{address, a.Namespace, token})
	case !a.Quiet:
		_, err = fmt.Fprintf(a.Out, "The dashboard of namespace %s is at %s until Ctrl-C.\n",
			human.Visible(a.Namespace),
			dashboard.WithToken(address, token))
	}
	return err
}
