package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/people"
	"github.com/265d0351/work/webui"
)

// peopleFlags say who may come in where there are several: who is in a file, or whom a proxy has let in.
type peopleFlags struct {
	users     string
	from      []string
	user      string
	groups    string
	operators []string
}

func (f *peopleFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.users, "users", os.Getenv("WORK_UI_USERS"),
		"`file` of those who may come in, with roles and passwords; `work ui user` makes its lines (env WORK_UI_USERS)")
	flags.StringSliceVar(&f.from, "proxy-from", nil,
		"`addresses` of a proxy that logs people in, as 10.0.0.5 or 10.1.0.0/16; others are refused")
	flags.StringVar(&f.user, "proxy-user-header", "X-Forwarded-User", "`header` in which it says who that is")
	flags.StringVar(&f.groups, "proxy-groups-header", "X-Forwarded-Groups", "`header` in which it says their groups")
	flags.StringSliceVar(&f.operators, "proxy-operators", nil,
		"`groups` whose members may act; all others may look. Or --users says who may do what")
	flags.Lookup("users").DefValue = ""
}

// wanted tells whether any of it was given.
func (f *peopleFlags) wanted() bool { return f.users != "" || len(f.from) > 0 }

// authorizer lets in whom the proxy names, if there is one, else who has a password in the file.
func (f *peopleFlags) authorizer(logger *slog.Logger) (webui.Authorizer, error) {
	var gate *people.Gate
	if f.users != "" {
		var err error
		if gate, err = people.Open(f.users, logger); err != nil {
			return nil, exit.Usagef("--users: %w", err)
		}
	}
	if len(f.from) == 0 {
		return gate.Authorize, nil
	}
	if gate != nil && len(f.operators) > 0 {
		return nil, exit.Usagef("--users and --proxy-operators both say who may act: give one of them")
	}
	login := webui.ProxyLogin{UserHeader: f.user, GroupsHeader: f.groups, Role: f.role}
	if gate != nil {
		login.Role = gate.Role
	}
	for _, text := range f.from {
		from, err := prefixOf(text)
		if err != nil {
			return nil, exit.Usagef("--proxy-from is %q: give an address, as 10.0.0.5, or a range, as 10.1.0.0/16",
				text)
		}
		login.From = append(login.From, from)
	}
	authorize, err := webui.ProxyAuth(login)
	if err != nil {
		err = &exit.UsageError{Err: err}
	}
	return authorize, err
}

func (f *peopleFlags) role(_ string, groups []string) webui.Role {
	if slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(f.operators, g) }) {
		return webui.RoleOperator
	}
	return webui.RoleViewer
}

func prefixOf(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		return netip.ParsePrefix(text)
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	return addr.Prefix(addr.BitLen())
}

func newUIUserCommand(a *cli.App) *cobra.Command {
	var role string
	cmd := &cobra.Command{
		Use:   "user NAME",
		Short: "Print a line for the file of --users, with a password that is asked for",
		Long: `user asks for a password, or reads it from the first line of standard input, and prints a line with its bcrypt hash
for the file that --users names. A dashboard that runs reads that file again when it changes.`,
		Example: "  work ui user ann --role operator >> users.txt",
		Args:    cobra.ExactArgs(1),
		RunE: a.Runs(func(_ context.Context, _ *cobra.Command, args []string) error {
			password, err := askPassword(a, args[0])
			if err != nil {
				return err
			}
			line, err := people.Line(args[0], role, password)
			if err != nil {
				return &exit.UsageError{Err: err}
			}
			_, err = fmt.Fprintln(a.Out, line)
			return err
		}),
	}
	cmd.Flags().StringVar(&role, "role", "viewer", "`role`: viewer, who may look, or operator, who may act")
	return cmd
}

// askPassword asks twice on a terminal, which does not show what is typed.
func askPassword(a *cli.App, name string) (string, error) {
	file, is := a.In.(*os.File)
	if !is || !term.IsTerminal(int(file.Fd())) {
		line, err := bufio.NewReader(io.LimitReader(a.In, 1<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		return strings.TrimRight(line, "\r\n"), nil
	}
	var typed [2]string
	for n, again := range []string{"", ", again"} {
		fmt.Fprintf(a.Err, "Password of %s%s: ", name, again)
		text, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(a.Err)
		if err != nil {
			return "", err
		}
		typed[n] = string(text)
	}
	if typed[0] != typed[1] {
		return "", exit.Usagef("those were two passwords: type the same one twice")
	}
	return typed[0], nil
}
