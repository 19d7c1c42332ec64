package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/265d0351/work/cmd/work/internal/human"
)

// AtMost refuses more than n arguments, saying what they are.
func AtMost(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= n {
			return nil
		}
		return fmt.Errorf("%s takes %s, but here are %d arguments, from %q to %q", cmd.CommandPath(), what, len(args),
			args[0], args[len(args)-1])
	}
}

// KnownCommand refuses arguments of a command that has others below it: they can only be misspelt ones.
func (a *App) KnownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %q: did you mean \"%s\"?", args[0], strings.Join(near, `" or "`))
	}
	return fmt.Errorf("there is no command %q: `%s --help` lists them", args[0], cmd.CommandPath())
}

// ExplainFlag adds a remedy to what cobra says of a flag it does not know, or of its value.
func ExplainFlag(cmd *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	if errors.As(err, &wrong) {
		if want, ok := wanted[wrong.GetFlag().Value.Type()]; ok {
			return fmt.Errorf("--%s is %q: give %s", wrong.GetFlag().Name, wrong.GetValue(), want)
		}
	}
	text := err.Error()
	if at := strings.Index(text, "unknown shorthand flag: '"); at >= 0 {
		if c := text[at+len("unknown shorthand flag: '")]; c >= '0' && c <= '9' {
			return fmt.Errorf("%w: put -- before arguments that begin with a minus", err)
		}
	}
	return fmt.Errorf("%w: `%s --help` lists the flags", err, cmd.CommandPath())
}

// wanted is what to give for a flag of each type.
var wanted = map[string]string{
	"int":      "a whole number, as 42, of at most 64 bits",
	"int64":    "a whole number, as 42, of at most 64 bits",
	"duration": "a duration, as 90s or 2h",
	"span":     "a duration, as 90s, 2h or 7d",
	"bool":     "true or false",
}

// Group is a command that only holds others.
func (a *App) Group(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  a.KnownCommand,
		RunE:  a.Runs(func(_ context.Context, cmd *cobra.Command, _ []string) error { return cmd.Help() }),
	}
}

// NeedSome refuses a call without an argument.
func NeedSome(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("%s needs %s: `%s --help` shows examples", cmd.CommandPath(), what, cmd.CommandPath())
		}
		return nil
	}
}

// Exactly refuses more or fewer than n arguments.
func Exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("%s takes %s, but here are %s", cmd.CommandPath(), what, human.Counted(len(args), "argument"))
	}
}
