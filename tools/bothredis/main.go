// Command bothredis reads a run of "go test -json", prints what failed in it, and compares the names of the tests that
// ran on the embedded Redis (".../embedded") with those that ran on a real one (".../redis"):
//
//	.ci/race -json work > run.json
//	go run ./tools/bothredis -except testdata/real-only.txt run.json
//
// A test that ran on one only must be listed in the file of exceptions, with a reason; an exception that is none must
// not. So a test cannot leave the real Redis unnoticed.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	except := flag.String("except", "", "the file of exceptions; none when empty")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: bothredis [-except FILE] RUN.json")
		os.Exit(2)
	}
	ok, err := report(os.Stdout, flag.Arg(0), *except)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bothredis:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// report prints what is wrong with the run and tells whether nothing is.
func report(out io.Writer, runPath, exceptPath string) (bool, error) {
	file, err := os.Open(runPath)
	if err != nil {
		return false, err
	}
	defer file.Close()
	events, err := readEvents(bufio.NewReader(file))
	if err != nil {
		return false, fmt.Errorf("%s: %w", runPath, err)
	}
	listed, err := readExceptions(exceptPath)
	if err != nil {
		return false, err
	}

	failed := printFailures(out, events)
	compared := compare(events)
	complaints := compared.complaints(listed)
	for _, complaint := range complaints {
		fmt.Fprintln(out, complaint)
	}
	fmt.Fprintf(out, "%d tests ran on both kinds of Redis, %d on one\n", compared.both, len(compared.oneSided))
	return failed == 0 && len(complaints) == 0, nil
}
