package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/internal/servers"
)

// Topology is which servers there are beside the one that has the namespace: replicas, the nodes of a cluster,
// Sentinels. What is not known is the zero value.
type Topology struct {
	Mode string `json:"mode,omitzero"` // "standalone" or "cluster"
	// of the namespace, or its first partition, in a cluster, 0 to 16383; known beforehand where there is none yet
	Slot         int           `json:"slot"`
	ClusterState string        `json:"cluster_state,omitzero"` // "ok" or "fail", of a cluster only
	Sentinel     *SentinelInfo `json:"sentinel,omitzero"`      // nil where none are asked
	// the primary takes writes only while enough replicas follow: min-replicas-to-write is not 0
	MinReplicas bool `json:"min_replicas,omitzero"`
	// at most 50: the primary of the namespace, its replicas, then others
	Nodes    []NodeInfo `json:"nodes"`
	More     int        `json:"more,omitzero"`     // nodes that are not listed
	Problems []string   `json:"problems,omitzero"` // what could not be asked, and why
}

// SentinelInfo is what the first Sentinel that answered knows.
type SentinelInfo struct {
	Primary   string `json:"primary"`   // the name by which Sentinels call it
	State     string `json:"state"`     // of the primary: "ok", or what is wrong with it, as "s_down"
	Sentinels int    `json:"sentinels"` // that watch it
	Quorum    int    `json:"quorum"`    // how many must agree that it is down
}

// NodeInfo is one server. What is not known is the zero value.
type NodeInfo struct {
	Addr    string `json:"addr"`
	ID      string `json:"id,omitzero"`      // of a cluster's node
	Role    string `json:"role,omitzero"`    // "primary" or "replica"
	Primary string `json:"primary,omitzero"` // of a replica: the address of what it follows
	// "online", "loading", "unreachable", and what a cluster or a Sentinel says; of a replica also "syncing" and "link
	// down"
	State  string `json:"state,omitzero"`
	Home   bool   `json:"home,omitzero"`    // the primary of the namespace, or of a partition of it
	OfHome bool   `json:"of_home,omitzero"` // a replica of that one
	Slots  int    `json:"slots,omitzero"`   // that it serves, of 16384
	// of a namespace with several: of which partitions it is the primary
	Partitions []int `json:"partitions,omitempty"`

	Version    string `json:"version,omitzero"`
	MemoryUsed int64  `json:"memory_used,omitzero"` // bytes
	MemoryMax  int64  `json:"memory_max,omitzero"`  // bytes; 0 is no limit, or not known

	Lag *ReplicaLag `json:"lag,omitzero"` // nil of primaries, and where it is not known

	Problem string `json:"problem,omitzero"` // why it could not be asked
}

// ReplicaLag is how far a replica is behind.
type ReplicaLag struct {
	Bytes int64 `json:"bytes"` // of the stream of its primary
	// since it confirmed something to the primary of the namespace, in whole seconds; 0 of replicas of others
	Silent time.Duration `json:"silent"`
}

// Topology asks which servers there are. The primary is asked first; the others, where the driver can reach them (a DSN
// of Sentinels or of a cluster, or such a client), at the same time, for at most two seconds. What could not be asked
// is told in it and is no error.
func (i *Inspector) Topology(ctx context.Context) (Topology, error) {
	of := i.served(ctx)
	return readAll(ctx, of, func(v *view, ctx context.Context) (Topology, error) {
		t, err := v.topology(ctx)
		for n := range t.Nodes {
			if t.Nodes[n].Home && !of.single() {
				t.Nodes[n].Partitions = []int{v.partition}
			}
		}
		return t, err
	}, func(all *Topology, one Topology) { all.add(&one) })
}

// add adds what the servers of another partition are. The same one may have several, and follow others.
func (t *Topology) add(one *Topology) {
	by := make(map[string]int, len(t.Nodes))
	for n := range t.Nodes {
		by[t.Nodes[n].Addr] = n
	}
	for _, node := range one.Nodes {
		if n, known := by[node.Addr]; known {
			same := &t.Nodes[n]
			same.Home, same.OfHome = same.Home || node.Home, same.OfHome || node.OfHome
			same.Partitions = append(same.Partitions, node.Partitions...)
		} else {
			t.Nodes = append(t.Nodes, node)
		}
	}
	slices.SortStableFunc(t.Nodes, func(a, b NodeInfo) int { return cmp.Compare(a.rank(), b.rank()) })
	t.More, t.MinReplicas = max(t.More, one.More), t.MinReplicas && one.MinReplicas
	for _, problem := range one.Problems {
		if !slices.Contains(t.Problems, problem) {
			t.Problems = append(t.Problems, problem)
		}
	}
}

// rank puts primaries of partitions first, and behind them their replicas.
func (n *NodeInfo) rank() int {
	switch {
	case n.Home:
		return 0
	case n.OfHome:
		return 1
	}
	return 2
}

func (v *view) topology(ctx context.Context) (Topology, error) {
	found, err := v.store.Topology(ctx)
	if err != nil {
		return Topology{}, fmt.Errorf("redis does not say which servers there are: %w", err)
	}
	return topologyOf(found), nil
}

func topologyOf(found servers.Topology) Topology {
	t := Topology{Mode: found.Mode, Slot: found.Slot, ClusterState: found.ClusterState, MinReplicas: found.MinReplicas,
		Nodes: make([]NodeInfo, 0, len(found.Nodes)), More: found.More, Problems: found.Problems}
	if s := found.Sentinels; s != nil {
		t.Sentinel = &SentinelInfo{Primary: s.Primary, State: s.State, Sentinels: s.Known, Quorum: s.Quorum}
	}
	for _, n := range found.Nodes {
		node := NodeInfo{Addr: n.Addr, ID: n.ID, Role: n.Role, Primary: n.Primary, State: n.State, Home: n.Home,
			OfHome: n.OfHome, Slots: n.Slots, Version: n.Version, MemoryUsed: n.MemoryUsed, MemoryMax: n.MemoryMax,
			Problem: n.Problem}
		if n.LagKnown {
			node.Lag = &ReplicaLag{Bytes: n.LagBytes, Silent: n.Silent}
		}
		t.Nodes = append(t.Nodes, node)
	}
	return t
}
