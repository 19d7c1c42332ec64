package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/265d0351/work/bench/contest"
	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/bench/report"
	"github.com/265d0351/work/bench/scenario"
	"github.com/265d0351/work/bench/server"
)

// orders are what the command line asked for.
type orders struct {
	quick, tiny, json, config, list, own bool
	drivers                              bool
	redis, write, note, cpuProfile, as   string
	rounds                               int
	span                                 time.Duration
	pin                                  bool
	scenarios                            []scenario.Scenario
	libraries                            []peer.Library
	args                                 []string
}

func parse(args []string, stderr io.Writer) (o orders, err error) {
	o.args = args
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.BoolVar(&o.quick, "quick", false, "fewer jobs and rounds: under ten minutes for everything")
	flags.BoolVar(&o.tiny, "tiny", false, "a few jobs only: proves that everything works, measures nothing")
	only := flags.String("only", "", "run the scenarios whose name matches this regular expression")
	libraries := flags.String("lib", "", "run these libraries only, comma-separated: work,asynq,river; "+
		"with --drivers redigo,go-redis,rueidis")
	flags.IntVar(&o.rounds, "rounds", 0, "how often each is run (default 3 with --quick, else 5)")
	flags.DurationVar(&o.span, "span", 0, "for how long jobs come where they come at a rate (default 3 s and a minute)")
	flags.BoolVar(&o.pin, "pin", false, "Redis on the first core, this program and all else on the second, by taskset")
	flags.BoolVar(&o.json, "json", false, "print JSON with every sample instead of the table")
	flags.BoolVar(&o.config, "config", false, "print how each library and server is configured, and run nothing")
	flags.BoolVar(&o.list, "list", false, "print the names of the scenarios, and run nothing")
	flags.BoolVar(&o.own, "own", false, "run asynq's own benchmark beside our adapter for asynq in the same shape")
	flags.BoolVar(&o.drivers, "drivers", false, "compare clients of Redis instead, each below this library")
	flags.StringVar(&o.redis, "redis", "",
		"host:port of an EMPTY Redis to use; it is flushed between runs (default: one is started)")
	flags.StringVar(&o.write, "write", "", "also write the tables between the markers of this page")
	flags.StringVar(&o.note, "note", "", "a sentence about this run, to stand above the table")
	flags.StringVar(&o.as, "as", "go run .", "how the tables call this command")
	flags.StringVar(&o.cpuProfile, "cpuprofile", "", "write a CPU profile of this program to this file")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("argument %q is not understood: use flags only, see --help", flags.Arg(0))
	}
	if o.rounds < 0 {
		return o, fmt.Errorf("--rounds is %d: use 1 or more", o.rounds)
	}
	if o.scenarios, err = chosenScenarios(o.allScenarios(), *only); err != nil {
		return o, err
	}
	o.libraries, err = chosenLibraries(o.allLibraries(), *libraries)
	return o, err
}

func (o orders) allScenarios() []scenario.Scenario {
	if o.drivers {
		return scenario.OfDrivers()
	}
	return scenario.All()
}

func (o orders) allLibraries() []peer.Library {
	if o.drivers {
		return peer.Drivers()
	}
	return peer.All()
}

// subject is what the report is of.
func (o orders) subject() string {
	if o.drivers {
		return report.Drivers
	}
	return report.Bench
}

func (o orders) size() scenario.Size {
	switch {
	case o.tiny:
		return scenario.Tiny
	case o.quick:
		return scenario.Quick
	}
	return scenario.Full
}

func (o orders) roundCount() int {
	switch {
	case o.rounds > 0:
		return o.rounds
	case o.tiny:
		return 1
	case o.quick:
		return 3
	}
	return 5
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case o.list:
		for _, s := range o.scenarios {
			fmt.Fprintln(stdout, s.Name) //lint:ignore errcheck the terminal is gone
		}
		return nil
	case o.config:
		printConfig(stdout, o.libraries)
		return nil
	case o.own:
		return compareOwn(ctx, stdout, stderr)
	}
	if o.cpuProfile != "" {
		stop, err := profile(o.cpuProfile)
		if err != nil {
			return err
		}
		defer stop()
	}
	return o.measure(ctx, stdout, stderr)
}

func profile(path string) (stop func(), err error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		file.Close() //lint:ignore errcheck a profile cut short is seen when it is read
	}, nil
}

func (o orders) measure(ctx context.Context, stdout, stderr io.Writer) error {
	if o.pin {
		if err := server.Part(); err != nil {
			return err
		}
	}
	stage, err := openStage(ctx, o.redis, o.libraries)
	if err != nil {
		return err
	}
	defer stage.Close()
	result := &report.Report{
		Of: o.subject(), Date: time.Now(), Command: o.command(), Note: o.note, Machine: report.ThisMachine(),
		Rounds: o.roundCount(), Servers: serverNames(stage),
	}
	game := &contest.Contest{Stage: stage, Scenarios: o.scenarios, Size: o.size(), Rounds: result.Rounds,
		Span: o.span, Progress: stderr}
	for _, lib := range o.libraries {
		if err := stage.Lacks(lib); err != nil {
			result.LeftOut = append(result.LeftOut, err.Error())
			continue
		}
		game.Libraries = append(game.Libraries, lib)
		result.Libraries = append(result.Libraries,
			report.Library{Name: lib.Name(), Version: released(lib), Config: lib.Config()})
	}
	result.Rows, result.Failures = game.Run(ctx)
	print := result.Markdown
	if o.json {
		print = result.JSON
	}
	err = print(stdout)
	if o.write != "" && ctx.Err() == nil {
		err = errors.Join(err, result.WriteInto(o.write))
	}
	if n := len(result.Failures); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d of the runs failed, see above", n))
	}
	return err
}

// command is what was asked for, as it would be typed, without what does not change the figures.
func (o orders) command() string {
	words := []string{o.as}
	for i := 0; i < len(o.args); i++ {
		switch name := strings.TrimLeft(o.args[i], "-"); name {
		case "note", "write", "cpuprofile", "as":
			i++
		default:
			words = append(words, o.args[i])
		}
	}
	return strings.Join(words, " ")
}

// released is the version of a library where it has one: this one is built from the tree around it.
func released(lib peer.Library) string {
	if version := peer.Version(lib); version != "v0.0.0" && version != "(devel)" {
		return version
	}
	return ""
}

func openStage(ctx context.Context, redis string, libraries []peer.Library) (*scenario.Stage, error) {
	stage := &scenario.Stage{}
	var err error
	if redis != "" {
		stage.Redis, err = server.UseRedis(redis)
	} else {
		stage.Redis, err = server.StartRedis()
	}
	if err != nil {
		return nil, err
	}
	for _, lib := range libraries {
		if lib.Store() == peer.Postgres && stage.Postgres == nil && stage.PostgresError == nil {
			stage.Postgres, stage.PostgresError = server.StartPostgres(ctx)
		}
	}
	return stage, nil
}

func serverNames(stage *scenario.Stage) []string {
	out := []string{"Redis " + stage.Redis.Version()}
	if stage.Postgres != nil {
		out = append(out, "PostgreSQL "+stage.Postgres.Version)
	}
	return out
}

func chosenScenarios(all []scenario.Scenario, only string) ([]scenario.Scenario, error) {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return nil, fmt.Errorf("--only is %q: %w", only, err)
	}
	var chosen []scenario.Scenario
	for _, s := range all {
		if pattern.MatchString(s.Name) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--only is %q, which matches no scenario: see --list", only)
	}
	return chosen, nil
}

func chosenLibraries(all []peer.Library, list string) ([]peer.Library, error) {
	if list == "" {
		return all, nil
	}
	var chosen []peer.Library
	for name := range strings.SplitSeq(list, ",") {
		found := false
		for _, lib := range all {
			if strings.EqualFold(lib.Name(), strings.TrimSpace(name)) {
				chosen, found = append(chosen, lib), true
			}
		}
		if !found {
			return nil, fmt.Errorf("--lib names %q: use some of %s", name, names(all))
		}
	}
	return chosen, nil
}

func names(all []peer.Library) string {
	list := make([]string, len(all))
	for i, lib := range all {
		list[i] = lib.Name()
	}
	return strings.Join(list, ", ")
}

func printConfig(w io.Writer, libraries []peer.Library) {
	for _, lib := range libraries {
		//lint:ignore errcheck the terminal is gone
		fmt.Fprintf(w, "%s, on %s\n", strings.TrimSpace(lib.Name()+" "+released(lib)), lib.Store())
		for _, line := range lib.Config() {
			fmt.Fprintf(w, "  - %s\n", line) //lint:ignore errcheck as above
		}
	}
	//lint:ignore errcheck as above
	fmt.Fprintf(w, "redis-server %q\npostgres %s\n", server.RedisSettings, strings.Join(server.PostgresSettings, " "))
}
