package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

func TestANameThatNothingHasIsRefusedUnlessForced(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	require.Zero(t, call("enqueue", "--redis", dsn, "export", "--force").status)
	for name, args := range map[string][]string{
		"pause":   {"pause", "export", "exprot"},
		"limits":  {"limits", "set", "exprot", "--concurrent", "2"},
		"enqueue": {"enqueue", "exprot", "1"},
	} {
		got := call(append(args, "--redis", dsn)...)
		assert.Equal(t, said{status: exit.Usage, err: "work: no queue, worker, schedule or limit has the name " +
			"\"exprot\" (did you mean \"export\"?); --force goes on all the same\n"}, got, name)
	}
	assert.Equal(t, said{err: "work limits: nothing is limited or paused by name\n"}, call("limits", "--redis", dsn),
		"nothing was done")
	for _, args := range [][]string{
		{"pause", "first", "--force"}, {"limits", "set", "second", "--force"}, {"enqueue", "third", "--force"},
		{"pause", "third"}, {"pause", "--all"}, {"resume", "unheard-of"},
	} {
		got := call(append(args, "--redis", dsn)...)
		assert.Zero(t, got.status, "%v: %s", args, got.err)
	}
}
