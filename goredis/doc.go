// Package goredis lets enqueuers, pools and inspectors speak to Redis by a client of go-redis that the program has: to
// one server, to the one that Sentinels name, or to a Redis Cluster.
//
//	client := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "shop", SentinelAddrs: sentinels})
//	pool := work.NewWorkerPool(nil, 10, work.WorkerOptions{Connection: goredis.Connection(client)})
//
// Who has no client of its own imports the package for its DSNs, which then work wherever a DSN does:
//
//	import _ "github.com/265d0351/work/goredis"
//
//	redis+sentinel://USER:PASSWORD@HOST:PORT,HOST:PORT/MASTER?db=0&sentinel_password=...
//	redis+cluster://USER:PASSWORD@HOST:PORT,HOST:PORT?tls=true&tls_ca=/etc/ca.pem
//
// They take the options of redis:// in their query, tls=true in place of rediss://, and db, of Sentinel only. User and
// password are those of the servers; those of the Sentinels are sentinel_user and sentinel_password. What cannot be is
// an error.
//
// Who has a DSN for a single server needs none of this. It is a module of its own, so that go-redis is downloaded by
// those who use it.
//
// # What is sent, and over what
//
// Calls go over connections of the client's pool, within its limits, by its timeouts and through its hooks; one without
// a read timeout is given 5 s. What blocks, a heartbeat and a subscription have connections of their own, outside of
// the pool, dialled as the client dials: with its TLS, user, password, database and OnConnect, without its hooks.
//
// Nothing is sent twice that may have run, whatever MaxRetries says. A call whose ctx ends gives its pooled connection
// up to go-redis, which keeps it until Redis has answered or the read timeout is over.
//
// # Sentinels
//
// When the Sentinels name another primary, go-redis closes the connections of its pool. Those outside of it are broken
// within about a second, also if the old primary still answers because it is cut off from all but its clients. For that
// the client's dialer is called once a second while some of them are open: that is a question to a Sentinel and a
// connection to the primary, on which nothing is sent but a handshake of TLS. They are told apart by their RemoteAddr,
// so a Dialer of one's own should make connections that have it. What the one Sentinel that go-redis asks does not know
// is not known here.
//
// # Clusters
//
// All keys of a namespace are in one slot. So a namespace lives on one primary of a cluster, and a cluster spreads
// namespaces, not the jobs of one. Calls go to primaries only, also with ReadOnly or RouteByLatency. When a slot has
// moved, what the old server did not run is sent to the new one. While a slot moves with its keys, a call goes to the
// server that has all keys of the call. Most have keys on both sides, or that are nowhere: these are refused until the
// slot has arrived, and are repeated by whoever made them where that is safe. So a namespace stands still meanwhile.
//
// Pub/sub is that of shards, where the servers have it (7.0 and newer): a message goes to the servers of the slot
// alone.
//
// # What is not there yet
//
//   - One namespace is on one primary, however many there are.
//   - Redis acknowledges writes before its replicas have them, unless [github.com/265d0351/work.WaitReplicas] is asked
//     for, or WaitReplicas of the WorkerOptions: docs/scale.md says what a failover loses, and how that is told.
//   - The Sentinels of a client that the program made cannot be asked, so inspectors show less of them.
//   - A redis.Ring is refused: it moves keys to another server when one does not answer.
package goredis
