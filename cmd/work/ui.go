package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/dashboard"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/human"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
	"github.com/265d0351/work/webui/alerts"
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
	people   peopleFlags
	alerts   alertFlags
	places   string // file
	keys     string // file
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
for a token or a password.

Several people come in by --users, a file of names, roles and hashes of passwords that is read again when it changes,
or by --proxy-from, a proxy that logs them in. --places shows several namespaces, also of several Redis, in one
dashboard: a file of lines "name namespace [DSN]".

Args and results that are sealed are shown as sealed. With --keys, a file of keys as seal.ReadKeys reads it, operators
see what is inside, and viewers do not.`,
		Example: `  work ui
  work ui --read-only --listen 127.0.0.1:8080
  WORK_UI_USER=ann WORK_UI_PASSWORD=secret work ui --listen 0.0.0.0:7788
  work ui user ann --role operator >> users.txt && work ui --users users.txt --listen 0.0.0.0:7788`,
		Args: cli.AtMost(0, "no argument"),
		RunE: a.Runs(func(ctx context.Context, cmd *cobra.Command, _ []string) error {
			a.WarnOfSecret(cmd, "password", "WORK_UI_PASSWORD or --password-file")
			a.WarnOfSecret(cmd, "token", "WORK_UI_TOKEN or --token-file")
			if err := f.readFiles(); err != nil {
				return err
			}
			return serveUI(ctx, a, f, cmd)
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
	flags.StringVar(&f.places, "places", "", "`file` of several namespaces that are shown in one dashboard")
	flags.StringVar(&f.keys, "keys", os.Getenv("WORK_UI_KEYS"),
		"open what is sealed by the keys in this `file`, for operators (env WORK_UI_KEYS)")
	flags.Lookup("keys").DefValue = ""
	f.people.register(cmd)
	f.alerts.register(cmd)
	cmd.AddCommand(newUIUserCommand(a))
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
func (f uiFlags) authorizer(logger *slog.Logger) (authorize webui.Authorizer, fresh string, err error) {
	near, err := dashboard.IsLoopback(f.listen)
	login := f.user != "" || f.password != ""
	switch {
	case err != nil:
		return nil, "", err
	case login && (f.user == "" || f.password == ""):
		return nil, "",
			exit.Usagef("--user and --password go together: give both, or set WORK_UI_USER and WORK_UI_PASSWORD")
	case ways(login, f.token != "", f.trusting, f.people.wanted()) > 1:
		return nil, "",
			exit.Usagef("there is more than one way to come in: give --token, or --user and --password, or --users, " +
				"or --proxy-from, or --insecure-loopback")
	case ways(login, f.token != "", f.people.wanted()) == 0 && !near:
		return nil, "",
			exit.Usagef("--listen %s is open to other machines: give --token, or --user and --password, or --users, "+
				"or listen on 127.0.0.1", f.listen)
	case f.people.wanted():
		authorize, err = f.people.authorizer(logger)
		return authorize, "", err
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

// ways counts those that are given.
func ways(given ...bool) (n int) {
	for _, one := range given {
		if one {
			n++
		}
	}
	return n
}

func serveUI(ctx context.Context, a *cli.App, f uiFlags, cmd *cobra.Command) error {
	logger := slog.New(slog.NewTextHandler(a.Err, nil))
	authorize, token, err := f.authorizer(logger)
	if err != nil {
		return err
	}
	if token != "" && a.Quiet && !a.JSON {
		return exit.Usagef("--quiet does not print the token that one needs to come in: give one with --token or " +
			"WORK_UI_TOKEN")
	}
	sent, err := f.alerts.options(a, cmd, logger)
	if err != nil {
		return err
	}
	opts := webui.Options{Authorize: authorize, ReadOnly: f.readOnly, Logger: logger}
	if opts.Codecs, err = cli.Codecs(f.keys); err != nil {
		return exit.Usagef("--keys: %w", err)
	}
	if f.places != "" {
		return servePlaces(ctx, a, f, served{opts: opts, token: token, alerts: sent})
	}
	return a.Inspect(ctx, func(ctx context.Context, inspector *inspect.Inspector) (err error) {
		if _, err := inspector.Counts(ctx); err != nil {
			return err // a wrong DSN is found now, not by the first who looks
		}
		if opts.Enqueuer, err = a.Enqueuer(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, opts.Enqueuer.Close()) }()
		opts.Title = a.Namespace
		s := served{opts: opts, token: token, alerts: sent, page: webui.Handler(inspector, opts),
			of: []string{a.Namespace}, watched: []watched{{inspector, ""}}}
		return s.until(ctx, a, f.listen)
	})
}

func servePlaces(ctx context.Context, a *cli.App, f uiFlags, s served) (err error) {
	named, err := readPlaces(a, f.places)
	if err != nil {
		return err
	}
	page, places, closing, err := openPlaces(named, s.opts)
	defer func() { err = errors.Join(err, closing()) }()
	if err != nil {
		return err
	}
	s.page = page
	for _, place := range places {
		s.of = append(s.of, place.Name)
		s.watched = append(s.watched, watched{place.Inspector, place.Name + "/"})
	}
	return s.until(ctx, a, f.listen)
}

// served is a dashboard while somebody serves it.
type served struct {
	opts  webui.Options
	page  http.Handler
	token string   // that nobody knows yet
	of    []string // namespaces or places

	alerts  *alerts.Options // where they are sent; nil is nowhere
	watched []watched
}

// until serves it until ctx ends.
func (s served) until(ctx context.Context, a *cli.App, listen string) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("the dashboard cannot be served: %w", err)
	}
	page := dashboard.Serve(listener, s.page, s.opts.Logger)
	err = sayAddress(a, s.of, page.Address, s.token)
	if err == nil {
		err = sendAlerts(ctx, s.alerts, s.watched, page.Wait)
	}
	if closeErr := page.Close(a.Hurry); err == nil {
		err = closeErr
	}
	return err
}

// sayAddress prints it for a person or a program, with the token if nobody knows it yet.
func sayAddress(a *cli.App, of []string, address, token string) error {
	var err error
	switch {
	case a.JSON:
		err = json.NewEncoder(a.Out).Encode(struct {
			Address   string `json:"address"`
			Namespace string `json:"namespace"` // or places, with commas
			Token     string `json:"token,omitempty"`
		}{address, strings.Join(of, ","), token})
	case !a.Quiet:
		_, err = fmt.Fprintf(a.Out, "The dashboard of namespace %s is at %s until Ctrl-C.\n",
			human.Visible(strings.Join(of, ", ")),
			dashboard.WithToken(address, token))
	}
	return err
}
