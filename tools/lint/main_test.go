// go vet starts this program for each package, those of the standard library too. Under the race detector that takes
// half a minute, and the program has nothing to race with.

//go:build !race

package main

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis/unitchecker"
)

// asTool makes go vet, started by a test, find the lint program in the test binary.
const asTool = "LINT_TEST_AS_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) == "1" && calledByVet(os.Args[1:]) {
		unitchecker.Main(analyzers()...)
		return
	}
	os.Exit(m.Run())
}

// The whole way: go vet calls the program for each package, findings and directives decide the exit status.
func TestVet(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		found  bool
	}{
		"clean":                    {"// Package a is clean.\npackage a\n", false},
		"a house finding":          {"// Package a lacks a comment.\npackage a\n\nfunc Bare() {}\n", true},
		"a finding of staticcheck": {"package a\n", true},
		"a finding of errcheck": {
			"// Package a drops an error.\npackage a\n\nfunc fails() error { return nil }\n\n" +
				"// Calls drops it.\nfunc Calls() { fails() }\n", true,
		},
		"a deferred close": {
			"// Package a closes a file.\npackage a\n\nimport \"os\"\n\n// Calls closes it.\nfunc Calls(f *os.File) " +
				"{ defer f.Close() }\n", false,
		},
		"a close that is not deferred": {
			"// Package a closes a file.\npackage a\n\nimport \"os\"\n\n// Calls closes it.\nfunc Calls(f *os.File) " +
				"{ f.Close() }\n", true,
		},
		"unused code": {"// Package a has a function that nobody calls.\npackage a\n\nfunc idle() {}\n", true},
		"a silenced finding": {
			"// Package a has a reason.\npackage a\n\n//lint:ignore U1000 it is called from assembly\nfunc idle() {}\n",
			false,
		},
		"a directive without reason": {"// Package a has none.\npackage a\n\n//lint:ignore U1000\nfunc Idle() {}\n",
			true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), "module example.com/a\n\ngo 1.26\n")
			write(t, filepath.Join(dir, "a.go"), c.source)
			t.Chdir(dir)
			t.Setenv("GOWORK", "off")
			t.Setenv(asTool, "1")
			if status := vet(nil); (status != 0) != c.found {
				t.Errorf("exit status %d", status)
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
