package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/describe"
)

// shop is a namespace in which something has happened, and the program on its Redis.
type shop struct{ *clitest.Shop }

func openShop(t *testing.T) *shop {
	t.Helper()
	return &shop{clitest.OpenShop(t)}
}

// call runs the program on this Redis.
func (s *shop) call(args ...string) said { return s.callWith("", args...) }

// callWith does so with somebody at the keyboard.
func (s *shop) callWith(in string, args ...string) said {
	var out, errOut bytes.Buffer
	status := execute(append(args, "--redis", s.Server.DSN()), strings.NewReader(in), &out, &errOut)
	return said{status: status, out: out.String(), err: errOut.String()}
}

// settled is what a call printed, without what differs from run to run: ids, the machine, and the fractions of seconds
// that a test took.
func (s *shop) settled(got said) string {
	s.T.Helper()
	text := fmt.Sprintf("%s--- stderr\n%s--- status %d\n", got.out, got.err, got.status)
	workers, err := s.Looked.Workers(s.T.Context())
	require.NoError(s.T, err)
	for _, w := range workers {
		text = strings.ReplaceAll(text, w.ID, "WORKER")
		text = strings.ReplaceAll(text, describe.ShortWorker(w.ID), "WORKER")
	}
	for _, change := range shopChanges {
		text = change.pattern.ReplaceAllString(text, change.with)
	}
	lines := strings.Split(text, "\n")
	for n, line := range lines {
		if strings.Contains(line, "WORKER") || strings.Contains(line, "HOST") || strings.Contains(line, "TOOK") {
			line = regexp.MustCompile(` 0s\b`).ReplaceAllString(line, " TOOK") // or it took none
			lines[n] = regexp.MustCompile(` +`).ReplaceAllString(line, " ")    // what it was as wide as differs
		}
	}
	return strings.Join(lines, "\n")
}

// shopChanges make moments of the shop what they would be if a test took no time.
var shopChanges = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`2030-01-31(.)09:00:[0-9]{2}(\.[0-9]+)?`), "2030-01-31${1}09:00:00"},
	{regexp.MustCompile(`2030-01-31(.)10:(30:[3-5][0-9]|31:[0-9]{2})(\.[0-9]+)?`), "2030-01-31${1}10:30:30"},
	{regexp.MustCompile(`2030-02-01(.)00:3[01]:[0-9]{2}(\.[0-9]+)?`), "2030-02-01${1}00:30:30"},
	{regexp.MustCompile(`2030-02-01(.)09:0[01]:[0-9]{2}(\.[0-9]+)?`), "2030-02-01${1}09:00:00"},
	{regexp.MustCompile(`"(mean|p50|p99|took)":[0-9.e-]+`), `"$1":TOOK`},
	{regexp.MustCompile(` ([0-9.]+(ms|µs)|[0-9]+\.[0-9]+s)\b`), " TOOK"},
	{regexp.MustCompile(`, (now|in [0-9]+s|[0-9]+s ago)\b`), ", now"},
	{regexp.MustCompile(`\b[0-9a-f]{48}\b|\b[0-9a-f]{12}\b`), "WORKER"},
	{regexp.MustCompile(`"(started|host|group|service|version|go)":"[^"]*"`), `"$1":"OF THE MACHINE"`},
	{regexp.MustCompile(`"pid":[0-9]+`), `"pid":0`},
	{regexp.MustCompile(`"load":\{[^}]*\}`), `"load":"OF THE MACHINE"`},
	{regexp.MustCompile(`(?m)^(started|host|service|version|go|pid|load)  .*`), "$1  OF THE MACHINE"},
	{regexp.MustCompile(`(?m)^WORKER .*( [01]/3)  +[0-9.]+(  [a-z]+( [a-z]+)?) .*  (import)$`),
		"WORKER  HOST  PID  UP $1  LOAD$2  VERSION  $4"},
}

// fileName is that of the golden file of a command line.
func fileName(line string) string {
	name := regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(line, "-")
	return strings.Trim(name, "-")
}
