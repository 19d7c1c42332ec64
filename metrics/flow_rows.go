package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/265d0351/work/inspect"
)

var (
	descFlows = describe("work_fleet_flows",
		"Flows: running, unsealed (being stored, or cut off) and ended ones that are kept.", "state")
	descFlowOldest = describe("work_fleet_flow_oldest_seconds",
		"Since when the oldest flow runs, is unsealed with no part stored, or waits to be gone on with (unmoved).",
		"state")
	descFlowMembers = describe("work_fleet_flow_members_left",
		"Members that have not ended, of the 500 flows that run longest.")
)

// flowRows are how many flows there are, and how old the oldest is of those that should not be old.
func flowRows(c *inspect.FlowCounts) []prometheus.Metric {
	age := func(since time.Time) float64 {
		if since.IsZero() {
			return 0
		}
		return max(0, c.AsOf.Sub(since).Seconds())
	}
	return []prometheus.Metric{
		gauge(descFlows, float64(c.Running), "running"), gauge(descFlows, float64(c.Unsealed), "unsealed"),
		gauge(descFlows, float64(c.Ended), "ended"), gauge(descFlowMembers, float64(c.MembersLeft)),
		gauge(descFlowOldest, age(c.OldestRunning), "running"),
		gauge(descFlowOldest, age(c.OldestUnsealed), "unsealed"),
		gauge(descFlowOldest, age(c.OldestReleasing), "unmoved"),
	}
}
