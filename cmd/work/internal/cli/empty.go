package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// RefuseEmpty refuses a flag or an argument that was given and is empty, for every command before it runs. A script
// gives one when its variable is not set, and without it most commands are about everything. Other mistakes are left
// to cobra, which reads the same args.
//
// An empty word is right in two places: a shell completes it, and with --string it is the empty text.
func RefuseEmpty(root *cobra.Command, args []string) error {
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		return nil
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	cmd, typed, err := root.Find(args)
	if err != nil {
		return nil
	}
	cmd.InitDefaultHelpFlag()
	cmd.LocalFlags() // adds the flags of its parents to its own
	var empty error
	texts := false
	unreadable := cmd.Flags().ParseAll(typed, func(flag *pflag.Flag, value string) error {
		texts = texts || flag.Name == "string"
		empty = emptyFlag(flag, value)
		return empty
	})
	if unreadable != nil || texts {
		return empty
	}
	if at := slices.IndexFunc(cmd.Flags().Args(), isEmpty); at >= 0 {
		return fmt.Errorf("argument %d of %s is empty (is a variable unset?): give a value, or leave it out", at+1,
			cmd.CommandPath())
	}
	return nil
}

func emptyFlag(flag *pflag.Flag, value string) error {
	switch {
	case isEmpty(value):
		return fmt.Errorf("--%s is empty (is a variable unset?): give a value, or leave it out", flag.Name)
	case flag.Value.Type() == "stringSlice" && slices.ContainsFunc(strings.Split(value, ","), isEmpty):
		return fmt.Errorf("--%s is %q, which has an empty part: give a value on both sides of each comma", flag.Name,
			value)
	}
	return nil
}

func isEmpty(value string) bool { return strings.TrimSpace(value) == "" }
