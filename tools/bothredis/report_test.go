package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func passed(tests ...string) []event {
	var events []event
	for _, test := range tests {
		events = append(events, event{Action: "pass", Package: modulePath + "/internal/rdb", Test: test})
	}
	return events
}

func leftOut(test string) event {
	return event{Action: "output", Package: modulePath + "/internal/rdb", Test: test, Output: "    redistest.go:90: " +
		leftByRace + "\n"}
}

func TestReport(t *testing.T) {
	t.Parallel()
	both := passed("TestFetch/embedded", "TestFetch/redis")
	for name, c := range map[string]struct {
		events []event
		except string
		ok     bool
		says   []string
	}{
		"the same on both": {both, "", true, []string{"1 tests ran on both kinds of Redis, 0 on one\n"}},
		"deeper subtests": {
			append(passed("TestFetch/embedded/empty", "TestFetch/redis/empty"), both...), "", true,
			[]string{"2 tests ran on both"},
		},
		"tests of neither": {append(passed("TestOther", "Testredis", "TestOther/some"), both...), "", true, nil},
		"only real": {
			append(passed("TestFull/redis"), both...), "", false,
			[]string{"./internal/rdb TestFull/redis ran, but not ./internal/rdb TestFull/embedded"},
		},
		"only embedded": {
			append(passed("TestFull/embedded"), both...), "", false,
			[]string{"./internal/rdb TestFull/embedded ran, but not ./internal/rdb TestFull/redis"},
		},
		"only a deeper one": {
			append(passed("TestFetch/redis/huge"), both...), "", false,
			[]string{"TestFetch/redis/huge ran, but not ./internal/rdb TestFetch/embedded/huge"},
		},
		"skipped on one": {
			append([]event{{Action: "skip", Package: modulePath, Test: "TestA/redis"},
				{Action: "pass", Package: modulePath, Test: "TestA/embedded"}}, both...),
			"", false, []string{". TestA/embedded ran, but not . TestA/redis"},
		},
		"left by the race run": {
			append([]event{leftOut("TestFull/embedded")},
				append(passed("TestFull/redis", "TestFull/redis/deep"), both...)...), "", true,
			[]string{"3 tests ran on both"},
		},
		"left by the race run, but another": {
			append([]event{leftOut("TestFuller/embedded")}, append(passed("TestFull/redis"), both...)...), "", false,
			[]string{"TestFull/redis ran, but not"},
		},
		"listed": {
			append(passed("TestFull/redis", "TestFull/redis/deep"), both...),
			"# why\n\n./internal/rdb TestFull/redis miniredis has no maxmemory\n", true,
			[]string{"1 tests ran on both kinds of Redis, 2 on one"},
		},
		"another package is listed": {
			append(passed("TestFull/redis"), both...), "./other TestFull/redis miniredis has no maxmemory\n", false,
			[]string{"./internal/rdb TestFull/redis ran", "./other TestFull/redis is listed"},
		},
		"listed in vain": {both, "./internal/rdb TestFetch/redis it was once\n", false,
			[]string{"TestFetch/redis is listed as running on one kind"}},
		"none on both": {passed("TestOther"), "", false, []string{"no test ran on both kinds of Redis"}},
		"a failure": {
			append([]event{
				{Action: "output", Package: modulePath, Test: "TestA", Output: "a_test.go:1: expected 1\n"},
				{Action: "output", Package: modulePath, Test: "TestB", Output: "not of interest\n"},
				{Action: "pass", Package: modulePath, Test: "TestB"},
				{Action: "fail", Package: modulePath, Test: "TestA"},
			}, both...), "", false, []string{"a_test.go:1: expected 1\n1 tests"},
		},
		"a failed build": {
			append([]event{
				{Action: "build-output", ImportPath: modulePath, Output: "job.go:3: undefined: x\n"},
				{Action: "build-fail", ImportPath: modulePath},
			}, both...), "", false, []string{"job.go:3: undefined: x"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run, except := writeRun(t, c.events), write(t, "except.txt", []byte(c.except))
			var out bytes.Buffer
			ok, err := report(&out, run, except)
			require.NoError(t, err)
			assert.Equal(t, c.ok, ok, out.String())
			for _, words := range c.says {
				assert.Contains(t, out.String(), words)
			}
			assert.NotContains(t, out.String(), "not of interest")
		})
	}
}

func TestReportRefuses(t *testing.T) {
	t.Parallel()
	run := writeRun(t, passed("TestFetch/embedded", "TestFetch/redis"))
	for name, c := range map[string]struct{ run, except, says string }{
		"no run": {filepath.Join(t.TempDir(), "none.json"), "", "none.json"},
		"a run that is no JSON": {write(t, "run.json", []byte("ok  \twork\t0.1s\n")), "",
			"event 1 is not what go test -json writes"},
		"no list": {run, filepath.Join(t.TempDir(), "none.txt"), "none.txt"},
		"a line without reason": {run, write(t, "e.txt", []byte("\n./internal/rdb TestA/redis\n")),
			`e.txt:2: "./internal/rdb TestA/redis" must be a package, a test and a reason`},
		"a line without a Redis": {run, write(t, "e.txt", []byte(". TestA it is odd\n")),
			"must name the kind of Redis"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok, err := report(&bytes.Buffer{}, c.run, c.except)
			assert.False(t, ok)
			assert.ErrorContains(t, err, c.says)
		})
	}
}

func writeRun(t *testing.T, events []event) string {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	for _, e := range events {
		require.NoError(t, encoder.Encode(e))
	}
	return write(t, "run.json", text.Bytes())
}

func write(t *testing.T, name string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}
