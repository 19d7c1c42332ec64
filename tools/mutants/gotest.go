package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// testTimeout is how long the tests of one mutant may take: one that hangs is seen by it.
const testTimeout = "150s"

// seen is what a run of tests came to.
type seen struct {
	failed []string // test functions, in the order in which they failed
	output string   // of those
}

// build makes the test program of the package in a tree, and returns its path.
func (t tests) build(ctx context.Context, tree string) (string, error) {
	program := filepath.Join(tree, strings.NewReplacer("/", "_", ".", "root").Replace(t.Package)+".test")
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-o", program, t.Package)
	cmd.Dir, cmd.Env = tree, inTree(tree)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("the tests of %s do not build: %w\n%s", t.Package, err, out)
	}
	return program, nil
}

func inTree(tree string) []string {
	return append(os.Environ(), "GOWORK="+filepath.Join(tree, "go.work"))
}

// run runs the tests in a tree: by a program that was built before the change, or with "" for that anew. It is an error
// if they cannot be built: then nothing is known about the change.
func (t tests) run(ctx context.Context, tree, program string) (seen, error) {
	names := "^(" + strings.Join(t.Names, "|") + ")$"
	// What waits in vain for a signal should do so together, and not in a row.
	arguments := []string{
		"test", "-json", "-vet=off", "-count=1", "-timeout=" + testTimeout, "-failfast", "-parallel=16", "-run", names,
		t.Package, "-args",
	}
	dir := tree
	if program != "" {
		arguments = []string{
			"tool", "test2json", "-p", t.Package, program, "-test.v=test2json", "-test.timeout=" + testTimeout,
			"-test.failfast",
			"-test.parallel=16", "-test.run", names,
		}
		dir = filepath.Join(tree, t.Package)
	}
	if slices.Contains(t.Names, model) || slices.Contains(t.Names, keyedModel) {
		arguments = append(arguments, "-rapid.shrinktime=1ms") // nobody reads the script of a run that must fail
	}
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir, cmd.Env = dir, append(inTree(tree), "WORK_MODELS_LONG=1") // all runs of a model, not a short form of it
	var events, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &events, &complaints
	err := cmd.Run()
	if ctx.Err() != nil {
		return seen{}, ctx.Err()
	}
	s, readErr := readEvents(&events)
	if readErr != nil {
		return s, fmt.Errorf("go test %s: %w\n%s", t.Package, readErr, complaints.String())
	}
	var status *exec.ExitError
	// the converter does not see what TestMain finds
	if errors.As(err, &status) && len(s.failed) == 0 && program != "" {
		s.failed = timedOut(s.output)
	}
	switch {
	case err != nil && !errors.As(err, &status):
		return s, err
	case (err != nil) != (len(s.failed) > 0):
		return s, fmt.Errorf("go test %s ended with %w, but its tests say otherwise: %s", t.Package, err,
			complaints.String())
	}
	return s, nil
}

// readEvents reads what go test -json wrote; "go doc test2json" describes it.
func readEvents(input io.Reader) (seen, error) {
	var s seen
	var output strings.Builder
	ran, packageFailed := false, ""
	for decoder := json.NewDecoder(input); ; {
		var e struct{ Action, Package, Test, Output, FailedBuild string }
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, fmt.Errorf("a line is not what go test -json writes: %w", err)
		}
		output.WriteString(e.Output)
		switch {
		case e.FailedBuild != "":
			return s, fmt.Errorf("%s does not build:\n%s", e.FailedBuild, output.String())
		case e.Action == "run":
			ran = true
		case e.Action == "fail" && e.Test == "":
			packageFailed = e.Package
		case e.Action == "fail" && !strings.Contains(e.Test, "/"):
			s.failed = append(s.failed, e.Test)
		}
	}
	s.output = output.String()
	if !ran && packageFailed == "" {
		return s, errors.New("no test ran: the names match none")
	}
	if packageFailed != "" && len(s.failed) == 0 {
		s.failed = timedOut(s.output)
	}
	return s, nil
}

// timedOut are the test functions that were still running when the time was up. If there are none, the program failed
// in another way: TestMain looks for goroutines that are left.
func timedOut(output string) []string {
	_, after, _ := strings.Cut(output, "panic: test timed out")
	_, list, _ := strings.Cut(after, "running tests:\n")
	var names []string
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name, _, _ = strings.Cut(name, "/"); name == "" {
			break
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		names = []string{"TestMain"}
	}
	return names
}
