package topology

import (
	"strings"
	"testing"
	"time"
)

// patience is how long anything may take that servers agree on.
const patience = time.Minute

// await asks until there is no error, and ends the test with the last one if that does not come.
func await(t testing.TB, what string, ask func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(patience); ; {
		if err = ask(); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: after %v: %v", what, patience, err)
		}
		<-time.After(10 * time.Millisecond) // between two looks
	}
}

// line is what stands behind a prefix in the first line that has it.
func line(text, prefix string) string {
	for l := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(l, prefix); found {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
