package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/265d0351/work/inspect"
)

// The families of the servers.
var (
	descReplicas = describe("work_redis_replicas", "Replicas of the primary of the namespace that follow it.")
	descNodeUp   = describe("work_redis_node_up",
		"Whether a server of the namespace is in use (1) or not (0).", "node", "role")
	descNodeMemory = describe("work_redis_node_memory_bytes", "Memory that a server uses.", "node")
	descNodeLimit  = describe("work_redis_node_memory_limit_bytes", "Memory that a server may use; 0: any.", "node")
	descReplicaLag = describe("work_redis_replica_lag_bytes", "How far a replica is behind its primary.", "node")
	descSilent     = describe("work_redis_replica_silent_seconds",
		"How long ago a replica confirmed something last.", "node")
)

// mostNodes is how many servers have labels: those that have the namespace, not all of a cluster.
const mostNodes = 12

// nodeRows are about the primary of the namespace and its replicas. What is not known is left out.
func nodeRows(found inspect.Topology) []prometheus.Metric {
	var rows []prometheus.Metric
	told, replicas := 0, 0
	for _, n := range found.Nodes {
		if !n.Home && !n.OfHome {
			continue
		}
		up := 0.0
		if n.State == "online" {
			up = 1
			if n.OfHome {
				replicas++
			}
		}
		if told++; told > mostNodes {
			continue
		}
		node := label(n.Addr)
		rows = append(rows, gauge(descNodeUp, up, node, n.Role))
		if n.MemoryUsed > 0 {
			rows = append(rows, gauge(descNodeMemory, float64(n.MemoryUsed), node),
				gauge(descNodeLimit, float64(n.MemoryMax), node))
		}
		if n.Lag != nil {
			rows = append(rows, gauge(descReplicaLag, float64(n.Lag.Bytes), node),
				gauge(descSilent, n.Lag.Silent.Seconds(), node))
		}
	}
	return append(rows, gauge(descReplicas, float64(replicas)))
}
