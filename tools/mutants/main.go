// Command mutants breaks the scripts of lua/ on purpose, one line at a time, and runs the tests that should see it:
//
//	go run ./tools/mutants                # all of them: about half an hour
//	go run ./tools/mutants -list
//	go run ./tools/mutants -only complete # those whose name matches
//	go run ./tools/mutants -quick         # a few that are seen in seconds
//
// It works in a copy of the tree. A change that no test sees has survived: it is named, and the run fails.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
)

type options struct {
	only        *regexp.Regexp
	list, quick bool
}

func main() {
	chosen, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, chosen); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		stop()
		os.Exit(1)
	}
}

func parse(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	only := flags.String("only", "", "a regular `expression`: only the mutants whose name matches")
	flags.BoolVar(&o.list, "list", false, "list them and what each breaks; run nothing")
	flags.BoolVar(&o.quick, "quick", false, "only the few that are seen in seconds")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is not expected: choose mutants with -only", flags.Arg(0))
	}
	var err error
	o.only, err = regexp.Compile(*only)
	return o, err
}

func run(ctx context.Context, out io.Writer, o options) error {
	chosen := o.choose(all())
	if len(chosen) == 0 {
		return fmt.Errorf("no mutant matches %q: -list names them", o.only)
	}
	if o.list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%-28s %-22s %s\n", m.Name, m.File, m.Breaks)
		}
		return nil
	}
	root, err := workspace()
	if err != nil {
		return err
	}
	results, err := hunt(ctx, out, root, chosen)
	if err != nil {
		return err
	}
	return survivors(results)
}

func (o options) choose(from []mutant) []mutant {
	var chosen []mutant
	for _, m := range from {
		if o.only.MatchString(m.Name) && (!o.quick || m.Quick) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}
