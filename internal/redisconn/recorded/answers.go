// Package recorded holds answers by which Redis, its kin, providers and proxies are recorded to refuse calls, with what
// each means. Tests and docs/reliability.md go by it; no program links it.
package recorded

import "github.com/265d0351/work/internal/redisconn"

// Answer is one error line, without the sign before it.
type Answer struct {
	From    string // who says so, and when
	Text    string
	Meaning redisconn.Meaning
}

// Answers are those that are recorded, by meaning.
var Answers = []Answer{
	{"Redis", "LOADING Redis is loading the dataset in memory", redisconn.Passing},
	{"Redis", "READONLY You can't write against a read only replica.", redisconn.Passing},
	{"Redis 7, in a script", "READONLY You can't write against a read only replica. script: 8a1c, on @user_script:9.",
		redisconn.Passing},
	{"Redis 6, ElastiCache and Azure at a failover, in a script", "ERR Error running script (call to f_f374): " +
		"@user_script:5: @user_script: 5: -READONLY You can't write against a read only replica.", redisconn.Passing},
	{"proxies", "ERR READONLY You can't write against a read only replica.", redisconn.Passing},
	{"Redis", "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", redisconn.Passing},
	{"Redis Cluster", "CLUSTERDOWN The cluster is down", redisconn.Passing},
	{"Redis Cluster", "MOVED 3999 127.0.0.1:6381", redisconn.Passing},
	{"Redis Cluster", "TRYAGAIN Multiple keys request during rehashing of slot", redisconn.Passing},
	{"Redis", "NOREPLICAS Not enough good replicas to write.", redisconn.Passing},
	{"Redis", "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		redisconn.Passing},
	{"Redis", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		redisconn.Passing},
	{"Redis", "UNKILLABLE Sorry the script already executed write commands against the dataset.", redisconn.Passing},
	{"Redis", "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
		redisconn.Passing},
	{"Redis", "ERR max number of clients reached", redisconn.Passing},
	{"Redis Cluster", "ERR max number of clients + cluster connections reached", redisconn.Passing},
	{"a proxy before several servers", "NOSCRIPT No matching script. Please use EVAL.", redisconn.Passing},
	{"Upstash", "ERR max daily request limit exceeded. Limit: 10000, Usage: 10001.", redisconn.Passing},
	{"Upstash", "ERR max requests limit exceeded. Limit: 500000, Usage: 500000.", redisconn.Passing},
	{"Upstash", "ERR max concurrent connections exceeded", redisconn.Passing},
	{"providers that limit requests", "TOO_MANY_REQUESTS", redisconn.Passing},
	{"Envoy", "upstream failure", redisconn.Passing},
	{"Envoy", "ERR upstream failure", redisconn.Passing},
	{"Envoy", "upstream protocol error", redisconn.Passing},
	{"Envoy", "no upstream host", redisconn.Passing},
	{"Twemproxy", "ERR Connection refused", redisconn.Passing},
	{"Twemproxy on musl", "ERR Operation timed out", redisconn.Passing},
	{"Twemproxy", "ERR Broken pipe", redisconn.Passing},
	{"Twemproxy", "ERR Connection reset by peer", redisconn.Passing},
	{"Twemproxy", "ERR Connection timed out", redisconn.Passing},
	{"Twemproxy", "ERR Host is down", redisconn.Passing},
	{"Predixy", "ERR no server connection avaliable", redisconn.Passing},

	{"Redis 6 and later", "NOPERM this user has no permissions to run the 'eval' command", redisconn.NoRight},
	{"Redis 7.0, in a script", "ERR The user executing the script can't run this command or subcommand script: " +
		"d2cc1a, on @user_script:76.", redisconn.NoRight},
	{"Redis 7.0, in a script", "ERR The user executing the script can't access at least one of the keys mentioned in " +
		"the command arguments script: d2cc1a, on @user_script:7.", redisconn.NoRight},
	{"Redis 7.0, in a script", "ERR The user executing the script can't publish to the channel mentioned in the " +
		"command script: d2cc1a, on @user_script:7.", redisconn.NoRight},
	{"Redis 7.2 and later, Valkey, in a script", "ERR ACL failure in script: User shop has no permissions to run the " +
		"'hset' command script: d2cc1a, on @user_script:3.", redisconn.NoRight},
	{"Redis 7.2 and later, Valkey", "NOPERM No permissions to access a channel", redisconn.NoRight},

	{"Redis", "OOM command not allowed when used memory > 'maxmemory'.", redisconn.Full},
	{"Redis 7, in a script", "OOM command not allowed when used memory > 'maxmemory'. script: 8a1c, on @user_script:9.",
		redisconn.Full},
	{"Redis 6, in a script", "ERR Error running script (call to f_f374): @user_script:5: @user_script: 5: -OOM " +
		"command not allowed when used memory > 'maxmemory'.", redisconn.Full},
	{"Redis Enterprise", "OOM command not allowed under OOM prevention.", redisconn.Full},
	{"Upstash", "ERR DB capacity quota exceeded", redisconn.Full},
	{"Upstash", "ERR max single record size exceeded", redisconn.Full},

	{"Redis", "NOAUTH Authentication required.", redisconn.Unfit},
	{"Redis, to a long call", "ERR Protocol error: unauthenticated multibulk length", redisconn.Unfit},
	{"Redis", "WRONGPASS invalid username-password pair or user is disabled.", redisconn.Unfit},
	{"Redis", "ERR AUTH <password> called without any password configured for the default user.", redisconn.Unfit},
	{"Envoy", "ERR invalid password", redisconn.Unfit},
	{"Envoy", "ERR Client sent AUTH, but no password is set", redisconn.Unfit},
	{"Redis", "DENIED Redis is running in protected mode because protected mode is enabled", redisconn.Unfit},
	{"Redis", "ERR DB index is out of range", redisconn.Unfit},
	{"Predixy", "ERR invalid DB index", redisconn.Unfit},
	{"Redis Cluster", "ERR SELECT is not allowed in cluster mode", redisconn.Unfit},
	{"Redis Cluster", "CROSSSLOT Keys in request don't hash to the same slot", redisconn.Unfit},
	{"Redis, Sentinel, ElastiCache", "ERR unknown command 'evalsha', with args beginning with: ", redisconn.Unfit},
	{"Envoy", "ERR unsupported command 'evalsha'", redisconn.Unfit},
	{"Dragonfly", "ERR Error running script (call to 976fb8): @user_script:59: script tried accessing undeclared key",
		redisconn.Unfit},
	{"Alibaba Cloud", "ERR command eval not support for normal user", redisconn.Unfit},
	{"Alibaba Cloud", "ERR eval/evalsha command keys must be in same slot", redisconn.Unfit},
	{"Alibaba Cloud", "ERR bad lua script for redis cluster, all the keys that the script uses should be " +
		"passed using the KEYS array", redisconn.Unfit},

	{"a script of this library", "BADKEY {shop}:queue:mail has the wrong type for LLEN", redisconn.OfCall},
	{"Redis", "WRONGTYPE Operation against a key holding the wrong kind of value", redisconn.OfCall},
	{"Redis 6, in a script", "ERR Error running script (call to f_f374): @user_script:5: @user_script: 5: -WRONGTYPE " +
		"Operation against a key holding the wrong kind of value", redisconn.OfCall},
	{"Redis", "ERR string exceeds maximum allowed size (proto-max-bulk-len)", redisconn.OfCall},
	{"Upstash", "ERR max request size exceeded. Limit: 1048576 bytes, Actual: 1048600 bytes", redisconn.OfCall},

	{"nobody so far", "ERR the moon is in the way", redisconn.Unknown},
	{"a script that meets what it does not expect", "ERR user_script:45: attempt to index a nil value script: " +
		"d2cc1a, on @user_script:45.", redisconn.Unknown},
	{"Envoy", "invalid request", redisconn.Unknown},
}
