package metrics

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/inspect"
)

func TestTheServersOfTheNamespaceHaveSeries(t *testing.T) {
	t.Parallel()
	fleet := &fakeFleet{topology: inspect.Topology{Nodes: []inspect.NodeInfo{
		{Addr: "a:1", Role: "primary", State: "online", Home: true, MemoryUsed: 10, MemoryMax: 20},
		{Addr: "b:1", Role: "replica", State: "online", OfHome: true, MemoryUsed: 11,
			Lag: &inspect.ReplicaLag{Bytes: 7, Silent: 2 * time.Second}},
		{Addr: "c:1", Role: "replica", State: "link down", OfHome: true},
		{Addr: "d:1", Role: "primary", State: "online", MemoryUsed: 12},
	}}}
	page := newSite(t, newFleet(fleet, FleetOptions{Logger: quiet})).scrape()
	page.is(1, "work_redis_replicas")
	page.is(1, "work_redis_node_up", "node", "a:1", "role", "primary")
	page.is(1, "work_redis_node_up", "node", "b:1", "role", "replica")
	page.is(0, "work_redis_node_up", "node", "c:1", "role", "replica")
	page.is(20, "work_redis_node_memory_limit_bytes", "node", "a:1")
	page.is(11, "work_redis_node_memory_bytes", "node", "b:1")
	page.is(7, "work_redis_replica_lag_bytes", "node", "b:1")
	page.is(2, "work_redis_replica_silent_seconds", "node", "b:1")
	assert.Len(t, page.families["work_redis_node_up"].GetMetric(), 3, "others of a cluster have none")
}

func TestNoMoreServersHaveSeriesThanThereAreLabelsFor(t *testing.T) {
	t.Parallel()
	fleet := &fakeFleet{}
	for i := range 50 {
		fleet.topology.Nodes = append(fleet.topology.Nodes, inspect.NodeInfo{Addr: fmt.Sprint(i), State: "online",
			OfHome: true})
	}
	page := newSite(t, newFleet(fleet, FleetOptions{Logger: quiet})).scrape()
	assert.Len(t, page.families["work_redis_node_up"].GetMetric(), mostNodes)
	page.is(50, "work_redis_replicas")
}

func TestServersThatCannotBeToldLeaveTheRest(t *testing.T) {
	t.Parallel()
	page := newSite(t, newFleet(&fakeFleet{unknown: errLuck}, FleetOptions{Logger: quiet})).scrape()
	page.is(1, "work_fleet_up")
	assert.Nil(t, page.families["work_redis_replicas"], "what is not known is not told")
}
