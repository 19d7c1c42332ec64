// Package alerts is what is wrong in a namespace, as the overview of a dashboard shows it, and how somebody is told who
// does not look: [Look] finds it, and [Send] posts it to a webhook, once per incident however many programs do so.
//
// # Incidents
//
// An incident is a rule under which something is wrong. It begins when that is first seen, is told when it has lasted
// for Options.After, and is over when nothing of it was seen for as long; then that is told as well. What is told is
// kept in Redis, by the one program that has the lease; the others wait for it. One that dies between a message and its
// note has the next one tell it again, under the same key: better twice than not at all.
//
// While Redis does not answer there is no place to agree, so each program tells that itself ([RedisAway]), with the
// same key.
//
// # Silence
//
// Who silences a rule ([inspect.Inspector.SilenceAlert]) has its incidents not told until then. One that was told
// before is still told to be over.
package alerts

// Rule names a kind of alert.
type Rule string

// The rules.
const (
	RedisAway      Rule = "redis-away"      // Redis does not answer; found by Send alone
	PartitionsAway Rule = "partitions-away" // some do not answer; found by Send alone
	RedisEvicts    Rule = "redis-evicts"    // it may drop keys
	RedisReplica   Rule = "redis-replica"   // it is a replica
	RedisUnsaved   Rule = "redis-unsaved"   // it could not save its data
	RedisFull      Rule = "redis-full"      // it uses 80 % of the memory that it may have, or more
	RedisEvicted   Rule = "redis-evicted"   // it has dropped keys; a note
	RedisNoLog     Rule = "redis-no-log"    // it writes no append-only file; a note
	QueuesBroken   Rule = "queues-broken"   // keys of queues are not what they should be
	QueuesUnserved Rule = "queues-unserved" // jobs wait that no worker serves
	LabelsMissing  Rule = "labels-missing"  // jobs wait that need labels which no worker has
	QueuesPaused   Rule = "queues-paused"   // a note
	AllPaused      Rule = "all-paused"      // a note
	NoWorkers      Rule = "no-workers"      // none is registered; a note while partitions are away
	WorkersLost    Rule = "workers-lost"    // some have no heartbeat
	WorkersHung    Rule = "workers-hung"    // every processor of some is held by a handler whose time is up
	JobsStuck      Rule = "jobs-stuck"      // some have run for long without a word
	JobsCrash      Rule = "jobs-crash"      // workers have died with them, more than once
)

// Rules returns all of them, in order.
func Rules() []Rule {
	return []Rule{RedisAway, PartitionsAway, RedisEvicts, RedisReplica, RedisUnsaved, RedisFull,
		RedisEvicted, RedisNoLog, QueuesBroken,
		QueuesUnserved, LabelsMissing, QueuesPaused, AllPaused, NoWorkers, WorkersLost, WorkersHung,
		JobsStuck, JobsCrash}
}
