package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/clitest"
)

// TestACommandThatIsTooOldRefuses: it reads nothing that it may misread, and stores nothing.
func TestACommandThatIsTooOldRefuses(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"queues"}, {"enqueue", "a"}, {"workers"}, {"doctor"}, {"pause", "a"}} {
		t.Run(words[0], func(t *testing.T) {
			t.Parallel()
			dsn := clitest.Redis(t)
			clitest.Command(t, dsn, "SET", "{work}:layout", "9 9")
			got := call(append(words, "--redis", dsn)...)
			assert.NotZero(t, got.status)
			assert.Contains(t, got.err, `namespace "work": its layout is 9 and needs programs that know 9`)
			assert.Equal(t, []string{"{work}:layout"}, clitest.Keys(t, dsn))
		})
	}
}
