package rights

// keyKinds are a key of a namespace that is never there, its channels, and one key of each kind: Redis refuses the
// script where one of them is not the user's.
var keyKinds = []string{"object:none", "control", "done", "held:token", "log:id", "jobs", "queue:work", "ready",
	"scheduled", "worker:id:info", "epoch", "limits", "unique", "outcomes"}

// probes are calls: how the script makes them, and the command. Each has as many words as the command takes, since some
// servers read beyond the end of a shorter one.
var probes = []struct{ shape, command string }{
	{"d5", "BLMOVE"}, {"k2", "BLPOP"}, {"n2", "EVAL"}, {"n2", "EVALSHA"}, {"n0", "EXEC"}, {"K1", "EXISTS"},
	{"K1", "GET"}, {"K3", "GETRANGE"}, {"K2", "HDEL"}, {"K2", "HEXISTS"}, {"K2", "HGET"}, {"K1", "HGETALL"},
	{"k3", "HINCRBY"}, {"K1", "HLEN"}, {"K2", "HMGET"}, {"K2", "HSCAN"}, {"k3", "HSET"}, {"k3", "HSETNX"},
	{"n1", "INFO"}, {"K2", "LINDEX"}, {"K1", "LLEN"}, {"K2", "LPOS"}, {"k2", "LPUSH"}, {"K2", "LPUSHX"},
	{"K3", "LRANGE"}, {"K3", "LREM"}, {"k3", "LSET"}, {"K3", "LTRIM"}, {"K1", "MGET"}, {"n0", "MULTI"},
	{"K1", "PERSIST"}, {"K2", "PEXPIRE"}, {"n0", "PING"}, {"K1", "PTTL"}, {"d2", "RENAME"}, {"K1", "RPOP"},
	{"k2", "RPUSH"}, {"K2", "RPUSHX"}, {"k2", "SADD"}, {"n1", "SCAN"}, {"K1", "SCARD"}, {"n1", "SELECT"},
	{"k2", "SET"}, {"k3", "SETRANGE"}, {"K1", "SINTER"}, {"C2", "SINTERCARD"}, {"K2", "SISMEMBER"},
	{"K1", "SMEMBERS"}, {"K2", "SMISMEMBER"}, {"K2", "SREM"}, {"K2", "SSCAN"}, {"K1", "STRLEN"}, {"N0", "TIME"},
	{"K1", "TYPE"}, {"K1", "UNLINK"}, {"n2", "WAIT"}, {"k3", "ZADD"}, {"K1", "ZCARD"}, {"K3", "ZCOUNT"},
	{"K3", "ZLEXCOUNT"}, {"K2", "ZMSCORE"}, {"K3", "ZRANGE"}, {"K3", "ZRANGEBYLEX"}, {"K3", "ZRANGEBYSCORE"},
	{"K2", "ZREM"}, {"K3", "ZREMRANGEBYRANK"}, {"K3", "ZREMRANGEBYSCORE"}, {"K3", "ZREVRANGE"}, {"K2", "ZSCAN"},
	{"K2", "ZSCORE"}, {"22", "PUBLISH"}, {"32", "PUBLISH"}, {"42", "PUBLISH"}, {"52", "PUBLISH"},
	{"22", "SPUBLISH"}, {"32", "SPUBLISH"}, {"42", "SPUBLISH"}, {"52", "SPUBLISH"}, {"s4", "SUBSCRIBE"},
	{"s4", "SSUBSCRIBE"},
}
