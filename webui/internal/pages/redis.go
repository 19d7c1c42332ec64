package pages

import (
	"fmt"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/inspect/doctor"
	"github.com/265d0351/work/webui/alerts"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

func (s *Site) showRedis(v *visit.Visit) error {
	server, err := v.Inspector.Server(v.Ctx())
	if err != nil {
		return err
	}
	topology, err := v.Inspector.Topology(v.Ctx())
	if err != nil {
		return err
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	size := 0
	if v.MayAct {
		if size, err = doctor.Size(v.Ctx(), v.Inspector, 0); err != nil {
			return err
		}
	}
	return s.show(v, "redis", page{Title: "Redis", Nav: "/redis", Now: server.Now, Body: struct {
		Server   inspect.ServerInfo
		Topology inspect.Topology
		Counts   inspect.Counts
		Used     int // percent of the memory
		Alerts   []alerts.Alert
		Size     int // entries that the doctor would look at
	}{server, topology, counts, format.Percent(int(server.MemoryUsed/1024), int(server.MemoryMax/1024)),
		append(alerts.OfServer(server), topologyAlerts(topology)...), size}})
}

// topologyAlerts are about what a failover would do, or is doing.
func topologyAlerts(t inspect.Topology) []alerts.Alert {
	var found []alerts.Alert
	add := func(bad bool, format string, values ...any) {
		found = append(found, alerts.Alert{Bad: bad, Text: fmt.Sprintf(format, values...), Link: "redis"})
	}
	if t.ClusterState != "" && t.ClusterState != "ok" {
		add(true, "The cluster says that its state is %s: a part of its slots is served by nobody", t.ClusterState)
	}
	if t.Sentinel != nil && t.Sentinel.State != "ok" {
		add(true, "Sentinels say that the primary %s is %s", t.Sentinel.Primary, t.Sentinel.State)
	}
	replicas := 0
	for _, n := range t.Nodes {
		if !n.OfHome {
			continue
		}
		replicas++
		if n.State != "online" {
			add(false, "The replica %s is not in use: %s", n.Addr, n.State)
		}
	}
	if t.Mode == "cluster" && replicas == 0 {
		add(false, "The node that has this namespace has no replica: when it fails, nothing runs until it is back")
	}
	return found
}
