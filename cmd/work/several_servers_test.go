package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest/topology"
)

// Every command takes a DSN of Sentinels, and says where another one leads.
func TestCommandsOnServersThatSentinelsWatch(t *testing.T) {
	t.Parallel()
	servers := topology.StartSentinels(t, topology.SentinelOptions{})
	dsn := servers.DSN()
	on := func(args ...string) said { return call(append(args, "--redis", dsn)...) }
	require.Zero(t, on("enqueue", "--force", "greet", "--id", "one").status)
	assert.Contains(t, on("queues").out, "greet")
	doctor := on("doctor")
	assert.Equal(t, exit.OK, doctor.status, "a hint is no error")
	assert.Contains(t, doctor.out, "min-replicas-to-write is 0")

	var told inspect.Topology
	require.NoError(t, json.Unmarshal([]byte(on("stats", "--nodes", "--json").out), &told))
	require.Len(t, told.Nodes, 2)
	assert.Equal(t, servers.Primary().Addr(), told.Nodes[0].Addr)
	text := on("stats", "--nodes").out
	assert.Regexp(t, `primary \* +online`, text)
	assert.Regexp(t, `replica \* +online +\d`, text)
	assert.Contains(t, text, "* has the namespace: primary shop of 3 Sentinels, quorum 2, state ok")
	assert.Equal(t, exit.Usage, on("stats", "--nodes", "greet").status)

	watcher := servers.Watchers[0].Addr()
	for _, args := range [][]string{{"enqueue", "--force", "greet"}, {"queues"}, {"stats"}, {"doctor"}, {"ui"}} {
		got := call(append(args, "--redis", "redis://"+watcher)...)
		assert.NotZero(t, got.status, args)
		assert.Contains(t, got.err, "use redis+sentinel://"+watcher+"/shop", args)
	}
}
