package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// asProgram in the environment makes the test binary behave as the program, so that tests can start real processes of
// it, and a demo within a test can start its children.
const asProgram = "WORK_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	for _, name := range []string{"WORK_REDIS", "WORK_NAMESPACE", "NO_COLOR"} {
		must(os.Unsetenv(name))
	}
	must(os.Setenv(asProgram, "1"))
	goleak.VerifyTestMain(m)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// said is what a call of the program printed.
type said struct {
	status   int
	out, err string
}

// call runs the program within the test.
func call(args ...string) said {
	var out, errOut bytes.Buffer
	status := execute(args, strings.NewReader(""), &out, &errOut)
	return said{status: status, out: out.String(), err: errOut.String()}
}
