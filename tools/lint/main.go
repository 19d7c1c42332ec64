// Command lint checks every package of the workspace with the analyzers listed in list.go:
//
//	go run ./tools/lint             # all modules of the workspace
//	go run ./tools/lint ./internal/...
//
// It runs itself under go vet, which gives each package to a process of its own and keeps what it found in the build
// cache, so a second run costs a second. (CONTRIBUTING.md has the figures of
// golangci-lint.)
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	arguments := os.Args[1:]
	if calledByVet(arguments) {
		unitchecker.Main(analyzers()...)
		return
	}
	os.Exit(vet(arguments))
}

// calledByVet tells the calls of go vet (-flags, -V=full, flags and a unit.cfg), and the requests for help, from those
// of a person, which name packages.
func calledByVet(arguments []string) bool {
	if len(arguments) == 0 {
		return false
	}
	last := arguments[len(arguments)-1]
	return strings.HasPrefix(last, "-") || strings.HasSuffix(last, ".cfg") || arguments[0] == "help"
}

// vet runs go vet with this very program as its tool and returns the exit status.
func vet(patterns []string) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lint: cannot find its own executable:", err)
		return 1
	}
	if len(patterns) == 0 {
		patterns = []string{"work"} // every package of every module that go.work names
	}
	command := exec.Command("go", append([]string{"vet", "-vettool=" + self}, patterns...)...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	err = command.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		fmt.Fprintln(os.Stderr, "lint: cannot run go vet:", err)
		return 1
	}
}
