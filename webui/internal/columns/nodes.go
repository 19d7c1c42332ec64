package columns

import (
	"cmp"
	"slices"
	"time"

	"github.com/265d0351/work/inspect"
)

// Nodes are those by which the servers of Redis can be sorted; without one the primary comes first.
var Nodes = []Column[inspect.NodeInfo]{
	Text("addr", "Server", func(r *inspect.NodeInfo) string { return r.Addr }),
	Text("role", "Role", func(r *inspect.NodeInfo) string { return r.Role }),
	Text("state", "State", func(r *inspect.NodeInfo) string { return r.State }),
	By("behind", "Behind", byLag).Down().Says("bytes of the stream of its primary"),
	Number("memory", "Memory", func(r *inspect.NodeInfo) int64 { return r.MemoryUsed }).Left(),
	Text("version", "Version", func(r *inspect.NodeInfo) string { return r.Version }),
	Number("slots", "Slots", func(r *inspect.NodeInfo) int { return r.Slots }),
	By("partitions", "Partitions", func(a, b *inspect.NodeInfo) int {
		return slices.Compare(a.Partitions, b.Partitions)
	}),
}

// byLag has those of which it is not known before those that are not behind.
func byLag(a, b *inspect.NodeInfo) int {
	behind := func(n *inspect.NodeInfo) int64 {
		if n.Lag == nil {
			return -1
		}
		return n.Lag.Bytes
	}
	return cmp.Compare(behind(a), behind(b))
}

// Servers are those by which can be sorted what servers say of themselves.
var Servers = []Column[inspect.ServerInfo]{
	By("partitions", "Partitions", func(a, b *inspect.ServerInfo) int {
		return slices.Compare(a.Partitions, b.Partitions)
	}),
	Text("version", "Version", func(r *inspect.ServerInfo) string { return r.Version }),
	Number("uptime", "Up for", func(r *inspect.ServerInfo) time.Duration { return r.Uptime }).Left().Up(),
	Number("trip", "Round trip", func(r *inspect.ServerInfo) time.Duration { return r.RoundTrip }).
		Says("of a small request, from this program"),
	Number("requests", "Requests a second", func(r *inspect.ServerInfo) int { return r.Operations }),
	Number("clients", "Connections", func(r *inspect.ServerInfo) int { return r.Clients }),
	Number("memory", "Memory", func(r *inspect.ServerInfo) int64 { return r.MemoryUsed }),
	Text("full", "When it is full", func(r *inspect.ServerInfo) string { return r.EvictionPolicy }),
	Number("dropped", "Keys dropped", func(r *inspect.ServerInfo) int64 { return r.Evicted }),
	Flag("log", "Append-only file", func(r *inspect.ServerInfo) bool { return r.AppendOnly }),
}
