package topology

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

// ClusterOptions say what StartCluster starts.
type ClusterOptions struct {
	Primaries int           // with about as many slots each; 0 means 3
	Replicas  int           // of each primary
	Timeout   time.Duration // of silence until nodes take one for dead; 0 means 2 s
	Args      []string      // more arguments of each node, as "--min-replicas-to-write", "1"
}

// Cluster is a Redis Cluster.
type Cluster struct {
	Nodes []*Server // that belong to it, running or not

	t     testing.TB
	links *links
	args  []string
}

// StartCluster returns when all nodes know each other, all slots are served and the replicas follow.
func StartCluster(t testing.TB, opt ClusterOptions) *Cluster {
	t.Helper()
	c := &Cluster{t: t, links: newLinks(), args: append([]string{
		"--cluster-node-timeout", fmt.Sprint(cmp.Or(opt.Timeout, 2*time.Second).Milliseconds()),
		"--cluster-allow-replica-migration", "no", // a replica stays where the test has put it
	}, opt.Args...)}
	primaries := cmp.Or(opt.Primaries, 3)
	for i := range primaries {
		s := c.start()
		s.must("CLUSTER", "SET-CONFIG-EPOCH", i+1) // else they fight over one
		s.must("CLUSTER", "ADDSLOTSRANGE", i*Slots/primaries, (i+1)*Slots/primaries-1)
	}
	for range opt.Replicas * primaries {
		c.start()
	}
	for _, s := range c.Nodes[1:] {
		c.meet(s)
	}
	c.awaitNodes()
	for i, s := range c.Nodes[primaries:] {
		s.must("CLUSTER", "REPLICATE", c.Nodes[i%primaries].id)
	}
	c.AwaitWhole()
	return c
}

// start starts a node that knows no other.
func (c *Cluster) start() *Server {
	c.t.Helper()
	s := c.links.start(c.t, node, "", c.args...)
	s.id = text(s.must("CLUSTER", "MYID"))
	c.Nodes = append(c.Nodes, s)
	return s
}

func (c *Cluster) meet(s *Server) {
	c.t.Helper()
	host, port, err := net.SplitHostPort(s.Addr())
	s.check(err)
	c.anyOther(s).must("CLUSTER", "MEET", host, port, s.bus.port)
}

// anyOther is a node that runs.
func (c *Cluster) anyOther(than *Server) *Server {
	c.t.Helper()
	for _, s := range c.Nodes {
		if s == than {
			continue
		}
		if _, err := s.Do("PING"); err == nil {
			return s
		}
	}
	c.t.Fatal("no other node of the cluster runs")
	return nil
}

// AddPrimary adds a node without slots and returns it when all others know it and it serves.
func (c *Cluster) AddPrimary() *Server {
	c.t.Helper()
	s := c.start()
	c.meet(s)
	c.AwaitWhole()
	return s
}

// AddReplica adds a node that follows that primary, and returns it when it does.
func (c *Cluster) AddReplica(of *Server) *Server {
	c.t.Helper()
	s := c.AddPrimary()
	s.must("CLUSTER", "REPLICATE", of.id)
	c.AwaitWhole()
	return s
}

// Remove has all others forget a node, which must have no slots, and ends it.
func (c *Cluster) Remove(s *Server) {
	c.t.Helper()
	c.Nodes = slices.DeleteFunc(c.Nodes, func(other *Server) bool { return other == s })
	for _, other := range c.Nodes {
		other.must("CLUSTER", "FORGET", s.id)
	}
	s.Kill()
	c.AwaitWhole()
}

// AwaitWhole waits until every node that runs knows all, serves, and follows its primary if it has one.
func (c *Cluster) AwaitWhole() {
	c.t.Helper()
	c.awaitNodes()
	links := catchUp{}
	await(c.t, "a whole cluster", func() error {
		for _, s := range c.Nodes {
			v, err := s.view()
			if err != nil {
				return err
			}
			if state := line(v.info, "cluster_state:"); state != "ok" {
				return fmt.Errorf("%s says that the cluster's state is %q", s.Addr(), state)
			}
			if v.self.primary == "" {
				continue
			}
			if i := c.index(v.self.primary); i < 0 {
				return fmt.Errorf("%s follows %s, which is not here", s.Addr(), v.self.primary)
			} else if err := links.follows(s, c.Nodes[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *Cluster) index(id string) int {
	return slices.IndexFunc(c.Nodes, func(s *Server) bool { return s.id == id })
}

// awaitNodes waits until every node knows exactly all nodes, with their ids and links.
func (c *Cluster) awaitNodes() {
	c.t.Helper()
	await(c.t, "nodes that know each other", func() error {
		for _, s := range c.Nodes {
			v, err := s.view()
			if err != nil {
				return err
			}
			if len(v.ready) != len(c.Nodes) {
				return fmt.Errorf("%s knows %d of %d nodes", s.Addr(), len(v.ready), len(c.Nodes))
			}
		}
		return nil
	})
}

// Primaries are the nodes that call themselves so, in the order of Nodes. One that does not answer is none.
func (c *Cluster) Primaries() []*Server {
	var found []*Server
	for _, s := range c.Nodes {
		if v, err := s.view(); err == nil && v.self.primary == "" {
			found = append(found, s)
		}
	}
	return found
}

// Replicas are the nodes that say that they follow that one.
func (c *Cluster) Replicas(of *Server) []*Server {
	var found []*Server
	for _, s := range c.Nodes {
		if v, err := s.view(); err == nil && v.self.primary == of.id {
			found = append(found, s)
		}
	}
	return found
}

// AwaitPromotion waits until the slot has another owner, and returns it.
func (c *Cluster) AwaitPromotion(slot int, old *Server) *Server {
	c.t.Helper()
	var promoted *Server
	await(c.t, "a promotion", func() (err error) {
		promoted, err = c.owner(slot)
		if err == nil && promoted == old {
			err = fmt.Errorf("slot %d is still of %s", slot, old.Addr())
		}
		return err
	})
	return promoted
}

// AwaitReplica waits until a node follows the owner of a slot and has all its data.
func (c *Cluster) AwaitReplica(slot int, s *Server) {
	c.t.Helper()
	links := catchUp{}
	await(c.t, "a replica of the owner", func() error {
		owner, err := c.owner(slot)
		if err != nil {
			return err
		}
		return links.follows(s, owner)
	})
}

// Lag makes replicas be that far behind their primaries. 0 ends it.
func (c *Cluster) Lag(lag time.Duration) { c.links.change(func() { c.links.lag = lag }) }

// Addrs are those of all nodes.
func (c *Cluster) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, s := range c.Nodes {
		addrs[i] = s.Addr()
	}
	return addrs
}

// DSN is redis+cluster:// with all nodes.
func (c *Cluster) DSN() string { return "redis+cluster://" + strings.Join(c.Addrs(), ",") }
