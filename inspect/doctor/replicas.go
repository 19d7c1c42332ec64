package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/servers"
)

// A replica that is further behind than one of these would lose much in a failover, or is not really there.
const (
	silentReplica = 10 * time.Second // as min-replicas-max-lag has it by default
	farBehind     = 64 << 20         // bytes: a failover would lose tens of thousands of jobs
)

// checkReplicas looks whether a failover would go well. That is no fault of what is stored, so it is never an error,
// and a Redis that does not tell is none either.
func (d *doctor) checkReplicas(ctx context.Context) error {
	found, err := d.store.Topology(ctx)
	if err != nil {
		return err
	}
	replicas := 0
	for _, n := range found.Nodes {
		if !n.OfHome {
			continue
		}
		replicas++
		d.checkReplica(n)
	}
	home := found.Nodes[0]
	switch {
	case found.Mode == "cluster" && home.Home && replicas == 0:
		d.find(Finding{Check: CheckReplicas, ID: "none",
			Detail: fmt.Sprintf("slot %d of this namespace is on %s, which has no replica: when it fails, nothing "+
				"runs until it is back", found.Slot, home.Addr),
			Remedy: "add a replica: redis-cli --cluster add-node NEW:PORT ANY:PORT --cluster-slave"})
	case replicas > 0 && home.Home && !found.MinReplicas:
		d.find(Finding{Check: CheckReplicas, ID: "min-replicas-to-write",
			Detail: "min-replicas-to-write is 0: a primary that is cut off from its replicas goes on taking jobs, " +
				"which are lost when it is replaced",
			Remedy: "CONFIG SET min-replicas-to-write 1, and in its file too; with a single replica nothing is " +
				"enqueued while that is away"})
	}
	if found.Sentinels != nil && found.Sentinels.Known < 3 {
		d.find(Finding{Check: CheckReplicas, ID: "sentinels",
			Detail: fmt.Sprintf("%d Sentinels watch the primary: when one fails, no majority can begin a failover",
				found.Sentinels.Known),
			Remedy: "run three or more, apart"})
	}
	return nil
}

func (d *doctor) checkReplica(n servers.Node) {
	detail := ""
	switch {
	case n.State != "" && n.State != "online":
		detail = "is not in use: " + n.State
	case n.LagKnown && n.Silent > silentReplica:
		detail = fmt.Sprintf("has not confirmed anything for %s", n.Silent)
	case n.LagKnown && n.LagBytes > farBehind:
		detail = fmt.Sprintf("is %d MiB behind", n.LagBytes>>20)
	}
	if detail != "" {
		d.find(Finding{Check: CheckReplicas, Severity: SeverityWarning, ID: n.Addr,
			Detail: "the replica " + n.Addr + " " + detail,
			Remedy: "look at its log, the network and repl-backlog-size; a failover to it would lose what it lacks"})
	}
}
