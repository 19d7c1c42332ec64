package rights

// keyKinds are a key of a namespace that is never there, its channels, and one key of each kind: Redis refuses the
// script where one of them is not the user's.
var keyKinds = []string{"object:none", "control", "done", "held:token", "log:id", "jobs", "queue:work", "ready",
	"scheduled", "worker:id:info", "epoch", "limits", "unique", "outcomes"}

// probes are calls, each of one command, with as many words as it takes: a server may read beyond the end of a shorter
// one. One with a ? ahead changes nothing where it is executed.
var probes = []string{
	"BLMOVE %1 %1 LEFT LEFT 0.01", "BLPOP %1 0.01", "EVAL return 0",
	"EVALSHA 0000000000000000000000000000000000000000 0", "EXEC", "?EXISTS %1", "?GET %1", "?GETRANGE %1 0 0",
	"?HDEL %1 f", "?HEXISTS %1 f", "?HGET %1 f", "?HGETALL %1", "HINCRBY %1 f 1", "?HLEN %1", "?HMGET %1 f",
	"?HSCAN %1 0", "HSET %1 f 1", "HSETNX %1 f 1", "INFO server", "?LINDEX %1 0", "?LLEN %1", "?LPOS %1 x",
	"LPUSH %1 x", "?LPUSHX %1 x", "?LRANGE %1 0 0", "?LREM %1 1 x", "LSET %1 0 x", "?LTRIM %1 0 0", "?MGET %1",
	"MULTI", "?PERSIST %1", "?PEXPIRE %1 1", "PING", "?PTTL %1", "RENAME %1 %1", "?RPOP %1", "RPUSH %1 x",
	"?RPUSHX %1 x", "SADD %1 x", "SCAN 0", "?SCARD %1", "SELECT 0", "SET %1 x", "SETRANGE %1 0 x",
	"?SINTER %1 %1", "?SINTERCARD 2 %1 %1 LIMIT 1", "?SISMEMBER %1 x", "?SMEMBERS %1", "?SMISMEMBER %1 x",
	"?SREM %1 x", "?SSCAN %1 0", "?STRLEN %1", "?TIME", "?TYPE %1", "?UNLINK %1", "WAIT 0 1", "ZADD %1 1 x",
	"?ZCARD %1", "?ZCOUNT %1 1 1", "?ZLEXCOUNT %1 [x [x", "?ZMSCORE %1 x", "?ZRANGE %1 0 0",
	"?ZRANGEBYLEX %1 [x [x", "?ZRANGEBYSCORE %1 1 1", "?ZREM %1 x", "?ZREMRANGEBYRANK %1 0 0",
	"?ZREMRANGEBYSCORE %1 1 1", "?ZREVRANGE %1 0 0", "?ZSCAN %1 0", "?ZSCORE %1 x", "PUBLISH %2 x",
	"PUBLISH %3 x", "PUBLISH %4 x", "PUBLISH %5 x", "SPUBLISH %2 x", "SPUBLISH %3 x", "SPUBLISH %4 x",
	"SPUBLISH %5 x", "SUBSCRIBE %2 %3 %4 %5", "SSUBSCRIBE %2 %3 %4 %5",
}
