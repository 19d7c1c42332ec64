// Command release makes a release of the library: versions of all its modules at once.
//
//	go run ./tools/release mod FILE VERSION     write one go.mod as it is in a release (scripts/release-mod)
//	go run ./tools/release proxy DIR VERSION    publish the tree into a module proxy of files, for GOPROXY=file://DIR
//	go run ./tools/release try VERSION          publish it there, and install from it in empty directories
//	go run ./tools/release cut VERSION          check everything, write the changelog, tag (make release VERSION=...)
//
// In the repository the modules find each other by replace directives, which nobody who installs them may have. So the
// tags of a release stand on a commit of their own, beside the branch, in which each go.mod names its siblings at the
// version of the release.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
)

var errUsage = errors.New(`usage: release mod FILE VERSION
       release proxy DIR VERSION
       release try VERSION
       release cut VERSION [CHECK [ARG...]]

VERSION is like v0.2.1; CHECK, .ci/run by default, must succeed before a release is cut`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		if errors.Is(err, errUsage) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	switch {
	case command == "mod" && len(args) == 2:
		return writeReleased(args[0], args[1])
	case command == "proxy" && len(args) == 2:
		return publish(ctx, ".", args[0], args[1])
	case command == "try" && len(args) == 1:
		return try(ctx, ".", args[0])
	case command == "cut" && len(args) >= 1:
		check := []string{".ci/run"}
		if len(args) > 1 {
			check = args[1:]
		}
		return cut(ctx, cutting{Repository: ".", Version: args[0], Check: check, Try: try})
	}
	return errUsage
}
