package integration

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/redistest/topology"
)

// divided is servers on which a namespace has partitions, without any proxy before them: it would cost time.
type divided struct {
	dsn       string
	namespace string
	nodes     []*redistest.Process
}

// onOne divides the namespace on one server.
func onOne(t *testing.T, namespace string, partitions int) divided {
	t.Helper()
	s := redistest.Dedicated(t)
	d := divided{dsn: "redis://" + s.Addr(), namespace: namespace, nodes: []*redistest.Process{s}}
	divide(t, d.dsn, namespace, partitions)
	return d
}

// onOwn divides the namespace on a cluster of as many primaries, each of which has one partition.
func onOwn(t *testing.T, namespace string, partitions int) divided {
	t.Helper()
	d := divided{namespace: namespace}
	owners := map[int]int{} // slot -> node
	for i := range partitions {
		owners[topology.Slot("{"+partition.Namespace(namespace, i)+"}")] = i
	}
	require.Len(t, owners, partitions, "two partitions in one slot: take another namespace")
	for i := range partitions {
		bus, err := redistest.FreePort("127.0.0.1")
		require.NoError(t, err)
		s := redistest.Dedicated(t, "--cluster-enabled", "yes", "--cluster-config-file",
			filepath.Join(t.TempDir(), "nodes.conf"), "--cluster-port", strconv.Itoa(bus),
			"--cluster-require-full-coverage", "no")
		d.nodes = append(d.nodes, s)
		d.do(t, i, "CLUSTER", "SET-CONFIG-EPOCH", i+1)
		var slots []any
		for slot := range topology.Slots {
			if owner, bound := owners[slot]; bound && owner == i || !bound && slot%partitions == i {
				slots = append(slots, slot)
			}
		}
		d.do(t, i, "CLUSTER", append([]any{"ADDSLOTS"}, slots...)...)
	}
	for i := range partitions {
		host, port, err := net.SplitHostPort(d.nodes[0].Addr())
		require.NoError(t, err)
		if i > 0 {
			bus := d.text(t, 0, "CONFIG", "GET", "cluster-port")
			d.do(t, i, "CLUSTER", "MEET", host, port, bus)
		}
	}
	require.Eventually(t, func() bool {
		for i := range d.nodes {
			info, err := redis.String(d.try(i, "CLUSTER", "INFO"))
			// A node that lacks slots serves the others, so its state alone says little.
			if err != nil || !strings.Contains(info, "cluster_state:ok") ||
				!strings.Contains(info, "cluster_slots_ok:16384\r") ||
				!strings.Contains(info, fmt.Sprintf("cluster_known_nodes:%d\r", partitions)) {
				return false
			}
		}
		return true
	}, patience, 20*time.Millisecond, "the cluster is not whole")
	d.dsn = "redis+cluster://" + d.nodes[0].Addr()
	divide(t, d.dsn, namespace, partitions)
	return d
}

// partitionsVariable says how many partitions the namespaces of all these tests have.
const partitionsVariable = "WORK_FAULT_PARTITIONS"

func partitionsOfFaults(t *testing.T) int {
	t.Helper()
	said := os.Getenv(partitionsVariable)
	if said == "" {
		return 1
	}
	n, err := strconv.Atoi(said)
	require.NoError(t, err, partitionsVariable)
	return n
}

// divide writes the map of an empty namespace.
func divide(t *testing.T, dsn, namespace string, partitions int) {
	t.Helper()
	if partitions == 1 {
		return
	}
	m := &partition.Map{Version: 1, Buckets: make([]int, partition.Buckets)}
	for range partitions {
		m.States = append(m.States, partition.Open)
	}
	for bucket := range m.Buckets {
		m.Buckets[bucket] = bucket % partitions
	}
	driver, err := redisconn.Open(dsn)
	require.NoError(t, err)
	defer func() { _ = driver.Close() }()
	directory := partition.NewDirectory(driver, namespace)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range partitions {
		_, err := directory.Store(i).WriteMap(ctx, m.Version, m.Encode(), -1)
		require.NoError(t, err)
	}
}

func (d divided) try(node int, command string, args ...any) (any, error) {
	conn, err := redis.Dial("tcp", d.nodes[node].Addr())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	return conn.Do(command, args...)
}

func (d divided) do(t *testing.T, node int, command string, args ...any) any {
	t.Helper()
	reply, err := d.try(node, command, args...)
	require.NoError(t, err, "%s", command)
	return reply
}

// text is the second word of a reply of CONFIG GET.
func (d divided) text(t *testing.T, node int, command string, args ...any) string {
	t.Helper()
	words, err := redis.Strings(d.do(t, node, command, args...), nil)
	require.NoError(t, err)
	require.Len(t, words, 2)
	return words[1]
}

// used is what all servers have used so far.
type used struct {
	cpu      time.Duration
	commands int // those of scripts too
	scripts  int
	waits    int // BLPOP
	bytes    int // of requests and replies
}

func (d divided) used(t *testing.T) (all used) {
	t.Helper()
	for i := range d.nodes {
		info, err := redis.String(d.do(t, i, "INFO", "everything"), nil)
		require.NoError(t, err)
		for line := range strings.Lines(info) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			switch {
			case name == "used_cpu_user" || name == "used_cpu_sys":
				seconds, err := strconv.ParseFloat(value, 64)
				require.NoError(t, err)
				all.cpu += time.Duration(seconds * float64(time.Second))
			case name == "total_net_input_bytes" || name == "total_net_output_bytes":
				n, err := strconv.Atoi(value)
				require.NoError(t, err)
				all.bytes += n
			case strings.HasPrefix(name, "cmdstat_") && !strings.HasPrefix(name, "cmdstat_info"):
				calls, err := strconv.Atoi(strings.TrimPrefix(strings.Split(value, ",")[0], "calls="))
				require.NoError(t, err)
				all.commands += calls
				switch name {
				case "cmdstat_evalsha", "cmdstat_eval":
					all.scripts += calls
				case "cmdstat_blpop":
					all.waits += calls
				}
			}
		}
	}
	return all
}

// since is what was used between two looks.
func (u used) since(before used) used {
	return used{cpu: u.cpu - before.cpu, commands: u.commands - before.commands, scripts: u.scripts - before.scripts,
		waits: u.waits - before.waits, bytes: u.bytes - before.bytes}
}

// throttle holds each server to that share of a core in each period, by control groups of Linux.
func (d divided) throttle(t *testing.T, share float64, period time.Duration) {
	t.Helper()
	length := strconv.Itoa(int(period.Microseconds()))
	quota := strconv.Itoa(int(share * float64(period.Microseconds())))
	for i, node := range d.nodes {
		name := fmt.Sprintf("work-%d-%d", os.Getpid(), i)
		group, limit := filepath.Join("/sys/fs/cgroup/cpu", name), [][2]string{{"cpu.cfs_period_us", length},
			{"cpu.cfs_quota_us", quota}}
		if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
			group = filepath.Join("/sys/fs/cgroup", name)
			limit = [][2]string{{"cpu.max", quota + " " + length}}
		}
		if err := os.Mkdir(group, 0o755); err != nil {
			redistest.Missing(t, fmt.Errorf("servers that are held to a part of a core need control groups: %w", err))
		}
		home := filepath.Join(filepath.Dir(group), "cgroup.procs")
		pid := strconv.Itoa(node.PID())
		t.Cleanup(func() {
			_ = os.WriteFile(home, []byte(pid), 0o644) // it may have ended
			_ = os.Remove(group)
		})
		for _, l := range limit {
			require.NoError(t, os.WriteFile(filepath.Join(group, l[0]), []byte(l[1]), 0o644))
		}
		require.NoError(t, os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(pid), 0o644))
	}
}
