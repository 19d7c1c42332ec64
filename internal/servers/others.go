package servers

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"

	"github.com/265d0351/work/internal/redisconn"
)

// askCluster asks the server that has the key which others there are. What that server knows by itself of its replicas
// stays, since a cluster does not tell how far they are behind.
func (l *look) askCluster(ctx context.Context, key string) {
	replies, err := l.driver.Pipeline(ctx, redisconn.Call{Command: "EXISTS", Keys: []string{key}},
		redisconn.Call{Command: "CLUSTER", Args: []any{"INFO"}},
		redisconn.Call{Command: "CLUSTER", Args: []any{"SHARDS"}})
	if err == nil {
		err = errors.Join(replies[1].Err, replies[2].Err)
	}
	if err != nil {
		l.problem("the cluster does not tell its nodes", err)
		return
	}
	l.ClusterState = redisconn.ParseInfo(replies[1].Value)["cluster_state"]
	home, replicas := l.Nodes[0], l.Nodes[1:]
	l.Nodes = nil
	for _, one := range list(replies[2].Value) {
		l.addShard(fields(one), home, replicas)
	}
	if len(l.Nodes) == 0 {
		l.Nodes = append([]Node{home}, replicas...)
		l.problem("the cluster does not tell its nodes", errors.New("CLUSTER SHARDS named none"))
	}
}

// addShard adds the nodes that serve the same slots.
func (l *look) addShard(shard map[string]any, home Node, replicas []Node) {
	count, ours := 0, false
	ranges := list(shard["slots"])
	for i := 0; i+1 < len(ranges); i += 2 {
		first, last := number(ranges[i]), number(ranges[i+1])
		count += int(last - first + 1)
		ours = ours || first <= int64(l.Slot) && int64(l.Slot) <= last
	}
	var members []Node
	primary := ""
	for _, one := range list(shard["nodes"]) {
		n := clusterNode(fields(one))
		if n.Role == "primary" {
			primary = n.Addr
			n.Home, n.Slots = ours && n.State == "online", count
		}
		n.OfHome = ours && n.Role == "replica"
		members = append(members, n)
	}
	for _, n := range members {
		if n.Role == "replica" {
			n.Primary = primary
		}
		switch known := indexOf(replicas, n.Addr); {
		case n.Home && home.Home:
			n.told = true
			n.Version, n.MemoryUsed, n.MemoryMax = home.Version, home.MemoryUsed, home.MemoryMax
			n.Offset = home.Offset
		case n.OfHome && known >= 0:
			of := replicas[known]
			n.LagKnown, n.LagBytes, n.Silent, n.Offset = of.LagKnown, of.LagBytes, of.Silent, of.Offset
		}
		l.Nodes = append(l.Nodes, n)
	}
}

func indexOf(nodes []Node, addr string) int {
	return (&look{Topology: Topology{Nodes: nodes}}).at(addr)
}

// clusterNode reads a node of CLUSTER SHARDS.
func clusterNode(said map[string]any) Node {
	host := text(said["endpoint"])
	if host == "" || host == "?" {
		host = text(said["ip"])
	}
	port := number(said["port"])
	if port == 0 {
		port = number(said["tls-port"])
	}
	n := Node{ID: text(said["id"]), Addr: net.JoinHostPort(host, strconv.FormatInt(port, 10)),
		Role: text(said["role"]), State: text(said["health"]), Offset: number(said["replication-offset"])}
	switch n.Role {
	case "master":
		n.Role = "primary"
	case "slave":
		n.Role = "replica"
	}
	return n
}

// askOthers asks every node but the one that was, a few at a time.
func (l *look) askOthers(ctx context.Context) {
	if l.fleet == nil {
		for i := range l.Nodes {
			if n := &l.Nodes[i]; !n.told {
				n.Problem = "only the primary was asked: the DSN names one server alone"
			}
		}
		return
	}
	var all sync.WaitGroup
	turn := make(chan struct{}, asked)
	for i := range l.Nodes {
		n := &l.Nodes[i]
		if n.told {
			continue
		}
		all.Go(func() {
			select {
			case turn <- struct{}{}:
				defer func() { <-turn }()
			case <-ctx.Done():
			}
			l.askNode(ctx, n)
		})
	}
	all.Wait()
}

// askNode adds what a node says of itself. What a cluster or a Sentinel says is wrong with it stays, where it is
// silent.
func (l *look) askNode(ctx context.Context, n *Node) {
	replies, err := l.fleet.Ask(ctx, n.Addr, questions()...)
	if err == nil {
		for _, reply := range replies {
			err = errors.Join(err, reply.Err)
		}
	}
	if err != nil {
		n.Problem = err.Error()
		if n.State == "" || n.State == "online" && !n.LagKnown {
			n.State = "unreachable"
		}
		return
	}
	info := said(replies)
	primary := n.Primary
	n.take(info)
	if n.Role == "replica" && primary != "" {
		n.Primary = primary // by the name that it has elsewhere in the list
	}
}

// lags are those of the replicas whose primary was not the one that was asked first.
func (l *look) lags() {
	for i := range l.Nodes {
		n := &l.Nodes[i]
		of := l.at(n.Primary)
		if n.LagKnown || n.Role != "replica" || !n.offsetKnown() || of < 0 || !l.Nodes[of].offsetKnown() {
			continue
		}
		n.LagKnown, n.LagBytes = true, max(0, l.Nodes[of].Offset-n.Offset)
	}
}

func (n *Node) offsetKnown() bool { return n.told || n.Offset > 0 }
