package main

import (
	"bytes"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/internal/redistest"
)

// asProgram in the environment makes the test binary behave as the program, so that tests can start real processes of
// it, and a demo within a test can start its children.
const asProgram = "WORK_TEST_AS_PROGRAM"

// fuzzWorker is the flag with which the test binary starts itself while it fuzzes: that child inherits the environment,
// but is no program.
const fuzzWorker = "-test.fuzzworker"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" && !slices.Contains(os.Args, fuzzWorker) {
		os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	for _, name := range []string{"WORK_REDIS", "WORK_NAMESPACE", "NO_COLOR"} {
		must(os.Unsetenv(name))
	}
	must(os.Setenv(asProgram, "1"))
	cli.CompletionTimeout = time.Minute
	redistest.Main(m)
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

func TestAFuzzWorkerIsNotTheProgram(t *testing.T) {
	t.Parallel()
	require.NotEmpty(t, os.Getenv(asProgram), "what the worker inherits")
	out, err := exec.Command(os.Args[0], fuzzWorker, "-test.list=^TestAFuzzWorkerIsNotTheProgram$").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "TestAFuzzWorkerIsNotTheProgram\n")
}
