package pages

import (
	"slices"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/alerts"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/visit"
)

// nodesBody is the servers that there are, and what those say of themselves that have the namespace.
type nodesBody struct {
	Topology inspect.Topology
	Columns  columns.Heads // of its nodes
	Servers  []inspect.ServerInfo
	Says     columns.Heads // the columns of Servers
	Divided  bool          // the namespace has several partitions
	Alerts   []alerts.Alert
}

func (s *Site) showNodes(v *visit.Visit) error {
	topology, err := v.Inspector.Topology(v.Ctx())
	if err != nil {
		return err
	}
	servers, err := v.Inspector.Servers(v.Ctx())
	if err != nil {
		return err
	}
	body := nodesBody{Topology: topology, Servers: servers, Divided: v.Inspector.Divided(v.Ctx()),
		Alerts: topologyAlerts(topology), Columns: columns.Sort(v, topology.Nodes, columns.Nodes),
		Says: columns.SortPart(v, "servers", servers, columns.Servers)}
	now := time.Time{}
	for _, server := range servers {
		for _, alert := range alerts.OfServer(server) {
			if !slices.ContainsFunc(body.Alerts, func(a alerts.Alert) bool { return a.Text == alert.Text }) {
				body.Alerts = append(body.Alerts, alert)
			}
		}
		now = server.Now
	}
	return s.show(v, "nodes", page{Title: "Nodes", Nav: "/nodes", Body: body, Now: now})
}

// partitionsBody is the partitions of a namespace.
type partitionsBody struct {
	Table   columns.Table[inspect.PartitionInfo]
	Divided bool // there are, or were, several
	Total   inspect.Counts
}

func (s *Site) showPartitions(v *visit.Visit) error {
	partitions, err := v.Inspector.Partitions(v.Ctx())
	if err != nil {
		return err
	}
	counts, err := v.Inspector.Counts(v.Ctx())
	if err != nil {
		return err
	}
	table := columns.Table[inspect.PartitionInfo]{Rows: partitions,
		Columns: columns.Sort(v, partitions, columns.Partitions)}
	return s.show(v, "partitions", page{Title: "Partitions", Nav: "/partitions", Now: counts.AsOf,
		Body: partitionsBody{table, v.Inspector.Divided(v.Ctx()), counts}})
}
