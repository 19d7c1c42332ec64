// Package servers finds out which servers there are beside the one that has the keys: replicas, the nodes of a cluster,
// Sentinels. Who shows people where their jobs are calls it; nothing that runs jobs does. It changes nothing, and is
// bounded in time and in how many servers it asks; what it could not ask it says.
package servers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// The bounds of a look.
const (
	MaxNodes   = 50              // that are told; those of the namespace's slot come first
	asked      = 8               // at a time
	askTimeout = 2 * time.Second // for all of them together
)

// Topology is which servers there are, and which of them has the keys.
type Topology struct {
	Mode         string // "standalone", "cluster"; empty where Redis does not say
	Slot         int    // of the namespace, whether there is a cluster or not
	ClusterState string // "ok", "fail"; of a cluster only
	Sentinels    *redisconn.Sentinels
	MinReplicas  bool   // the primary takes writes only while enough replicas follow (min-replicas-to-write)
	Nodes        []Node // the primary of the namespace first
	More         int    // nodes that are not among them
	Problems     []string
}

// Node is one server. What is not known is the zero value.
type Node struct {
	Addr    string
	ID      string // of a cluster
	Role    string // "primary", "replica"
	Primary string // of a replica: the address of its primary
	State   string // "online"; of a replica also "link down", "syncing"; of others "fail", "loading", "unreachable"
	Home    bool   // the primary of the namespace
	OfHome  bool   // a replica of that one
	Slots   int    // that it serves; of a cluster

	Version    string
	MemoryUsed int64 // bytes
	MemoryMax  int64 // bytes; 0 is no limit
	Offset     int64 // in the stream of replication

	LagKnown bool
	LagBytes int64         // of a replica, behind its primary
	Silent   time.Duration // since it last confirmed; whole seconds

	Problem string // why it could not be asked

	told bool // it has said what it is
}

// Look asks the primary of the key what it knows, and the others where the driver can.
func Look(ctx context.Context, driver redisconn.Driver, key string) (Topology, error) {
	l := &look{driver: driver, Topology: Topology{Slot: redisconn.SlotOf(key)}}
	l.fleet, _ = driver.(redisconn.Fleet)
	if err := l.askHome(ctx, key); err != nil {
		return Topology{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if l.Mode == "cluster" {
		l.askCluster(ctx, key)
	} else {
		l.askSentinels(ctx)
	}
	l.order()
	l.askOthers(ctx)
	l.lags()
	l.order() // they know their roles better than others do
	return l.Topology, nil
}

type look struct {
	Topology
	driver redisconn.Driver
	fleet  redisconn.Fleet // nil where there is none
}

// sections are those of INFO that are read. Each is asked for by itself: before 7.0 INFO takes only one.
var sections = []string{"server", "memory", "replication", "persistence"}

func questions(first ...redisconn.Call) []redisconn.Call {
	for _, section := range sections {
		first = append(first, redisconn.Call{Command: "INFO", Args: []any{section}})
	}
	return first
}

// said is what replies to INFO say together.
func said(replies []redisconn.Reply) map[string]string {
	all := map[string]string{}
	for _, reply := range replies {
		maps.Copy(all, redisconn.ParseInfo(reply.Value))
	}
	return all
}

// askHome asks the server that has the key. A command with the key comes first, so that a cluster's driver goes there.
func (l *look) askHome(ctx context.Context, key string) error {
	replies, err := l.driver.Pipeline(ctx, questions(redisconn.Call{Command: "EXISTS", Keys: []string{key}})...)
	if err != nil {
		return err
	}
	info := said(replies[1:])
	home := Node{}
	home.take(info)
	home.Home = home.Role != "replica" && replies[0].Err == nil
	if located, is := l.driver.(redisconn.Located); is {
		home.Addr = located.Where()
	}
	if home.Addr == "" && info["tcp_port"] != "" {
		home.Addr = ":" + info["tcp_port"]
	}
	l.Mode = info["redis_mode"]
	_, l.MinReplicas = info["min_slaves_good_slaves"]
	l.Nodes = append([]Node{home}, connected(info, home)...)
	if home.Role == "replica" && info["master_host"] != "" {
		l.Nodes = append(l.Nodes, Node{Role: "primary", Home: true, Addr: home.Primary})
	}
	return nil
}

// take reads what a server says of itself.
func (n *Node) take(info map[string]string) {
	number := func(field string) int64 {
		i, _ := strconv.ParseInt(info[field], 10, 64) // 0 where it is not said
		return i
	}
	n.Version = cmp.Or(info["valkey_version"], info["redis_version"])
	n.MemoryUsed, n.MemoryMax = number("used_memory"), number("maxmemory")
	n.State, n.told = "online", true
	switch info["role"] {
	case "master":
		n.Role, n.Primary, n.Offset = "primary", "", number("master_repl_offset")
	case "slave":
		n.Role, n.Offset = "replica", number("slave_repl_offset")
		n.Primary = net.JoinHostPort(info["master_host"], info["master_port"])
		switch {
		case info["master_sync_in_progress"] == "1":
			n.State = "syncing"
		case info["master_link_status"] != "up":
			n.State = "link down"
		}
	}
	if info["loading"] == "1" {
		n.State = "loading"
	}
}

// connected are the replicas that a primary tells of, in lines such as
// "slave0:ip=10.0.0.6,port=6379,state=online,offset=14,lag=1".
func connected(info map[string]string, home Node) []Node {
	var found []Node
	for i := range MaxNodes + 1 {
		fields := fieldsOf(info["slave"+strconv.Itoa(i)])
		if fields["ip"] == "" {
			continue
		}
		offset, _ := strconv.ParseInt(fields["offset"], 10, 64)
		lag, _ := strconv.Atoi(fields["lag"])
		n := Node{Addr: net.JoinHostPort(fields["ip"], fields["port"]), Role: "replica", Primary: home.Addr,
			OfHome: true,
			State:  fields["state"], Offset: offset}
		if n.State == "wait_bgsave" || n.State == "send_bulk" {
			n.State = "syncing"
		}
		if n.State == "online" {
			n.LagKnown, n.LagBytes = true, max(0, home.Offset-offset)
			n.Silent = time.Duration(lag) * time.Second
		}
		found = append(found, n)
	}
	return found
}

func fieldsOf(line string) map[string]string {
	fields := map[string]string{}
	for part := range strings.SplitSeq(line, ",") {
		if name, value, found := strings.Cut(part, "="); found {
			fields[name] = value
		}
	}
	return fields
}

// at is the position of the node with an address, or -1.
func (l *look) at(addr string) int {
	return slices.IndexFunc(l.Nodes, func(n Node) bool { return n.Addr == addr })
}

func (l *look) problem(what string, err error) {
	l.Problems = append(l.Problems, fmt.Sprintf("%s: %v", what, err))
}

// askSentinels adds what the Sentinels know: the address of the primary, and replicas that it does not hear of.
func (l *look) askSentinels(ctx context.Context) {
	if l.fleet == nil {
		return
	}
	view, err := l.fleet.Sentinels(ctx)
	if err != nil {
		l.problem("the Sentinels cannot be asked", err)
	}
	if view == nil {
		return
	}
	l.Sentinels = view
	for i := range l.Nodes {
		switch n := &l.Nodes[i]; {
		case i == 0 && n.Role == "primary":
			n.Addr = view.Addr
		case n.OfHome:
			n.Primary = view.Addr
		}
	}
	for _, replica := range view.Replicas {
		if l.at(replica.Addr) < 0 {
			l.Nodes = append(l.Nodes, Node{Addr: replica.Addr, Role: "replica", Primary: view.Addr, OfHome: true,
				State: cmp.Or(strings.ReplaceAll(replica.State, "ok", ""), "not connected")})
		}
	}
}

// order puts the namespace's own servers first, and bounds how many there are.
func (l *look) order() {
	rank := func(n Node) int {
		switch {
		case n.Home:
			return 0
		case n.OfHome:
			return 1
		case n.Role == "primary":
			return 2
		}
		return 3
	}
	slices.SortStableFunc(l.Nodes, func(a, b Node) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Addr, b.Addr))
	})
	if len(l.Nodes) > MaxNodes {
		l.More = len(l.Nodes) - MaxNodes
		l.Nodes = l.Nodes[:MaxNodes]
	}
}
