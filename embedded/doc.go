// Package embedded is a Redis inside the process, for development and tests.
//
// A blank import adds the scheme memory:// to every DSN of the framework:
//
//	import _ "github.com/265d0351/work/embedded"
//
//	enq, err := work.NewEnqueuer("memory://shop")
//
// memory://NAME is one server per name, shared by everything in the process and kept until the process ends. After the
// name, a database and options are allowed as in redis://. Nothing is stored on disk, and no port is open.
//
// [Start] makes a server of one's own, whose clock can be held and moved, on a port of 127.0.0.1. [StartUnlisted] makes
// one without a port. A whole pool runs on such a server in a bubble of testing/synctest, where time passes only while
// everybody waits: an hour of the pool takes about a second.
//
// # Differences from Redis
//
// The server is miniredis 2.40, which is not a Redis. Each point has a test that fails when it is no longer so; what
// depends on one has to be tried on a real Redis too.
//
// Errors in scripts:
//   - An error that redis.call raises arrives as "ERR Error compiling script (new function): :1: WRONGTYPE ..." with a
//     stack: its code is lost. redis.pcall, redis.error_reply and a returned {err=...} keep it, as on Redis, also
//     inside an array. So scripts return their errors instead of raising them.
//   - error() of a table loses its text altogether; error() of a text has no "user_script:" and mangles percent signs.
//
// Lua:
//   - unpack of more than about 5,000 values fails.
//   - tostring and ".." keep 16 digits of a number, Redis 14; as an argument of redis.call a fraction is shortest
//     ("0.1"), on Redis it has 17 digits, and from 1e17 Redis writes an exponent.
//   - cjson keeps 16 digits and empty lists, and drops null; there is no cmsgpack, bit, struct and REDIS_VERSION.
//   - A text with leading zeros is octal where it is reckoned with ('010' + 0 is 8), on Redis decimal; tonumber(text,
//     10) is the same.
//   - print, os and goto exist, which Redis refuses.
//   - {double = 3.5} is an empty list. BLPOP inside a script blocks, where Redis refuses it.
//
// Commands:
//   - No maxmemory, CONFIG, MONITOR, DEBUG, SLOWLOG, CLIENT LIST and KILL, OBJECT ENCODING, REPLICAOF; INFO only of
//     clients and stats.
//   - HSCAN ignores COUNT and answers all; HKEYS and HGETALL are sorted; ZADD takes NaN.
//   - A subscriber that does not read stops the whole server once its socket is full, and without a port its messages
//     stay in memory; Redis disconnects it.
//
// Time:
//   - TIME stands still in a script.
//   - TIME and TTLs can be held and moved; how long BLPOP waits always follows the clock of the program.
package embedded
