// Package topology starts several redis-servers for a test: a primary with replicas that Sentinels watch, or a Redis
// Cluster. They are real ones, on loopback, and end with the test.
//
//	s := topology.StartSentinels(t, topology.SentinelOptions{Replicas: 2})
//	old := s.Primary()
//	old.Kill()
//	promoted := s.AwaitPromotion(old)
//	old.Restart()
//	s.AwaitReplica(old)
//
//	c := topology.StartCluster(t, topology.ClusterOptions{Primaries: 3, Replicas: 1})
//	slot := topology.Slot("{shop}:")
//	c.MoveSlots(c.Primaries()[1], slot)
//	c.Owner(slot).Kill()
//
// # Links
//
// Every server has an address of its own in 127.0.0.0/8, which it announces and which clients, peers and Sentinels are
// given ([Server.Addr]). Behind it stands a proxy, which knows by the source address which server calls; a client has
// none of theirs. So what goes on between servers can be disturbed while clients notice nothing of it:
//
//   - Lag makes what a primary sends to its replicas arrive that much later. Nothing gets lost and the stream is as
//     wide as before. What replicas answer is not delayed.
//   - [Server.Isolate] cuts one server off from all others, Sentinels and the bus of a cluster included, as a network
//     does that drops packets: connections stay and what is sent waits. [Server.Heal] lets it arrive.
//   - [Server.Direct] is the server past the proxy, for who wants to look at it or to measure without the proxy's cost.
//
// # Waiting
//
// Whoever starts, promotes or moves something waits until the servers say that it is so, and the test fails with what
// they said last if that takes more than a minute. Methods that take no ctx are for the goroutine of the test.
//
// # What it needs
//
// redis-server on PATH and Linux, on which all of 127.0.0.0/8 is loopback. Without them the test is skipped, or fails
// if Redis is required, as in package redistest.
package topology
