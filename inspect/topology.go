package inspect

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/servers"
)

// Topology is which servers there are beside the one that has the namespace: replicas, the nodes of a cluster,
// Sentinels. What is not known is the zero value.
type Topology struct {
	Mode string `json:"mode,omitzero"` // "standalone" or "cluster"
	// of the namespace in a cluster, 0 to 16383; known beforehand where there is none yet
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
	Home   bool   `json:"home,omitzero"`    // the primary of the namespace
	OfHome bool   `json:"of_home,omitzero"` // a replica of that one
	Slots  int    `json:"slots,omitzero"`   // that it serves, of 16384

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
	if i.unusable != nil {
		return Topology{}, i.unusable
	}
	found, err := i.store.Topology(ctx)
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
