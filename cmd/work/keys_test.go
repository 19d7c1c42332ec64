package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
)

// keyed stores jobs of some keys.
func keyed(t *testing.T, dsn string, keys ...string) {
	t.Helper()
	for _, key := range keys {
		require.Zero(t, call("enqueue", "--force", "--redis", dsn, "sync", "--key", key).status)
	}
}

func TestTheKeysOfAQueueAreShown(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	keyed(t, dsn, "ann", "bob", "ann", "cid", "ann", "bob")
	lines := strings.Split(strings.TrimSpace(call("keys", "sync", "--redis", dsn).out), "\n")
	require.Len(t, lines, 4)
	assert.Equal(t, []string{"KEY", "WAITING", "PARKED", "RUNNING", "SHARE", "WEIGHT", "LIMIT", "WHY", "NOT", "MORE"},
		strings.Fields(lines[0]))
	assert.Equal(t, []string{"ann", "3", "0", "0", "-", "1", "-", "-"}, strings.Fields(lines[1]))
	assert.Equal(t, []string{"bob", "2", "0", "0", "-", "1", "-", "-"}, strings.Fields(lines[2]))

	clitest.Golden(t, "keys",
		call("keys", "sync", "--redis", dsn).out+call("keys", "sync", "--redis", dsn, "--json").out)
	got := call("__complete", "--redis", dsn, "keys", "stop", "sync", "")
	assert.Equal(t, "ann\nbob\ncid\n:4\n", got.out)
	assert.Contains(t, call("__complete", "--redis", dsn, "keys", "reset", "").out, "sync\n")

	first := call("keys", "sync", "--redis", dsn, "--json", "--limit", "1")
	var key inspect.KeyInfo
	require.NoError(t, json.Unmarshal([]byte(first.out), &key))
	assert.Equal(t, inspect.KeyInfo{Key: "ann", Weight: 1, Waiting: 3, Exact: true}, key)
	_, cursor, found := strings.Cut(strings.TrimSpace(first.err), "--cursor ")
	require.True(t, found, first.err)
	rest := call("keys", "sync", "--redis", dsn, "--cursor", cursor)
	assert.Equal(t, 3, strings.Count(rest.out, "\n"), rest.out)
	assert.NotContains(t, rest.out, "ann")
	assert.Contains(t, call("keys", "other", "--redis", dsn, "--force").err, "no job of this name that has a key")
	assert.Equal(t, exit.Usage, call("keys", "sync", "--redis", dsn, "--limit", "-1").status)
	assert.Equal(t, exit.Usage, call("keys", "--redis", dsn).status)
}

func TestAKeyIsLimitedStoppedAndGoesOn(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	keyed(t, dsn, "ann", "bob")
	limit := func(args ...string) said { return call(append([]string{"keys"}, append(args, "--redis", dsn)...)...) }
	assert.Equal(t, said{out: "sync, key ann: 10 at a time, 100 per 1m\n"},
		limit("limit", "sync", "ann", "--running", "10", "--rate", "100/1m"))
	assert.Regexp(t, `ann +1 +0 +0 +- +1 +10 at a time, 100 per 1m in bursts of 1, by hand`, limit("sync").out)
	assert.Equal(t, said{out: `{"action":"stop","name":"sync","key":"ann"}` + "\n"},
		limit("stop", "sync", "ann", "--json"))
	assert.Regexp(t, `ann +1 +0 +0 +- +1 +stopped, by hand +its key is stopped`, limit("sync").out)
	require.Zero(t, limit("stop", "sync", "nobody").status)
	assert.Regexp(t, `nobody +0 +0 +0 +- +- +stopped, by hand`, limit("sync").out, "the weight of no job")
	assert.Equal(t, said{out: "sync, key ann: as all other keys\n"}, limit("reset", "sync", "ann"))
	assert.Regexp(t, `ann +1 +0 +0 +- +1 +- +-`, limit("sync").out)
	for want, args := range map[string][]string{
		"nothing is limited: give --running":      {"limit", "sync", "ann"},
		`--rate is "100": give how many jobs`:     {"limit", "sync", "ann", "--rate", "100"},
		`--rate is "100/soon": give a duration`:   {"limit", "sync", "ann", "--rate", "100/soon"},
		`--rate is "0/1m": give how many jobs`:    {"limit", "sync", "ann", "--rate", "0/1m"},
		"Concurrent is -1":                        {"limit", "sync", "ann", "--running", "-1"},
		"the name of a queue and one of its keys": {"stop", "sync"},
		"no queue, worker, schedule or limit":     {"stop", "snyc", "ann"},
	} {
		got := limit(args...)
		assert.NotZero(t, got.status, want)
		assert.Contains(t, got.err, want)
	}
}
