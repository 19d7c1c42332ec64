package integration

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/265d0351/work/goredis" // the DSNs of Sentinels and clusters
	"github.com/265d0351/work/internal/redistest/topology"
)

// scaleLong tells whether there are as many faults as docs/scale.md says; otherwise one of each does.
func scaleLong() bool { return os.Getenv("WORK_SCALE_LONG") == "1" }

// servers are several of which one has the namespace, and another one takes over.
type servers interface {
	DSN() string
	Lag(lag time.Duration)
	primary() *topology.Server
	followers(of *topology.Server) []*topology.Server
	awaitPromotion(old *topology.Server) *topology.Server
	awaitReplica(s *topology.Server)
}

// safe are the settings with which nothing that replicas have confirmed is lost: a primary that is cut off from all of
// them takes no more writes after 3 s.
var safe = []string{"--min-replicas-to-write", "1", "--min-replicas-max-lag", "3"}

// layouts start servers, two replicas of the namespace's primary among them: with one, a primary that must have one to
// write waits for the old one after each failover.
var layouts = map[string]func(t *testing.T, namespace string, args ...string) servers{
	"Sentinel": func(t *testing.T, _ string, args ...string) servers {
		return watched{topology.StartSentinels(t, topology.SentinelOptions{Replicas: 2, Args: args})}
	},
	"Cluster": func(t *testing.T, namespace string, args ...string) servers {
		c := spread{
			topology.StartCluster(t, topology.ClusterOptions{Primaries: 3, Replicas: 1, Args: args}),
			topology.Slot("{" + namespace + "}"),
		}
		c.AddReplica(c.primary())
		return c
	},
	"Cluster without replicas": func(t *testing.T, namespace string, args ...string) servers {
		return spread{
			topology.StartCluster(t, topology.ClusterOptions{Primaries: 3, Args: args}),
			topology.Slot("{" + namespace + "}"),
		}
	},
}

// watched are servers that Sentinels watch.
type watched struct{ *topology.Sentinels }

func (w watched) primary() *topology.Server                          { return w.Primary() }
func (w watched) followers(*topology.Server) []*topology.Server      { return w.Replicas() }
func (w watched) awaitPromotion(o *topology.Server) *topology.Server { return w.AwaitPromotion(o) }
func (w watched) awaitReplica(s *topology.Server)                    { w.AwaitReplica(s) }

// spread is a cluster, of which one slot counts.
type spread struct {
	*topology.Cluster
	slot int
}

func (c spread) primary() *topology.Server                        { return c.Owner(c.slot) }
func (c spread) followers(of *topology.Server) []*topology.Server { return c.Replicas(of) }
func (c spread) awaitPromotion(o *topology.Server) *topology.Server {
	return c.AwaitPromotion(c.slot, o)
}
func (c spread) awaitReplica(s *topology.Server) { c.AwaitReplica(c.slot, s) }

// promotion is when one of these says that it is a primary now.
func promotion(t *testing.T, among []*topology.Server) (at time.Time) {
	t.Helper()
	require.Eventually(t, func() bool {
		for _, s := range among {
			asked := time.Now()
			if s.Info("role") == "master" {
				at = asked
				return true
			}
		}
		return false
	}, patience, 5*time.Millisecond, "nobody takes over")
	return at
}
