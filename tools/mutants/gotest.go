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

// run runs the tests in a tree. It is an error if they cannot be built: then nothing is known about the change.
func (t tests) run(ctx context.Context, tree string) (seen, error) {
	arguments := []string{
		"test", "-json", "-vet=off", "-count=1", "-timeout=" + testTimeout,
		"-failfast", "-parallel=16", // what waits in vain for a signal should do so together, and not in a row
		"-run", "^(" + strings.Join(t.Names, "|") + ")$", t.Package,
	}
	if slices.Contains(t.Names, model) {
		arguments = append(arguments, "-args", "-rapid.shrinktime=1ms") // nobody reads the script of a run that must fail
	}
	cmd := exec.CommandContext(ctx, "go", arguments...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "GOWORK="+filepath.Join(tree, "go.work"))
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
	switch {
	case err != nil && !errors.As(err, &status):
		return s, err
	case (err != nil) != (len(s.failed) > 0):
		return s, fmt.Errorf("go test %s ended with %w, but its tests say otherwise: %s", t.Package, err, complaints.String())
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

// timedOut are the test functions that were still running when the time was up. If there are none, the program failed in
// another way: TestMain looks for goroutines that are left.
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
