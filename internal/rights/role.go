// Package rights asks a Redis whether its user may do what a role needs, before anything is written. It knows the
// commands and channels of each role, makes the rule of an ACL of what is missing, and says what a server is that runs
// no scripts. Package rdb asks before the first call of a guarded store, and pools ask at the start and while they
// run. It never decides what happens to jobs then.
package rights

import (
	"slices"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

// Role is what a program does with a namespace.
type Role int

// The roles.
const (
	Enqueuer Role = iota // stores jobs and flows, and waits for results
	Worker               // runs jobs, and enqueues
	Reader               // looks at what is stored
	Operator             // changes it by hand, and does what readers and enqueuers do
	Doctor               // does what operators do, and walks over all keys
)

// Roles are all of them.
func Roles() []Role { return []Role{Enqueuer, Worker, Reader, Operator, Doctor} }

// roleNames are how they are called.
var roleNames = [...]string{"enqueuer", "worker", "reader", "operator", "doctor"}

func (r Role) String() string { return roleNames[r] }

// Commands are those that the role needs, in order.
func (r Role) Commands() []string {
	all := strings.Fields(connecting + " " + [...]string{
		Enqueuer: enqueuing, Worker: working, Reader: reading, Operator: operating, Doctor: operating + " SCAN",
	}[r])
	slices.Sort(all)
	return slices.Compact(all)
}

// Scripts reports whether programs of the role call that script.
func (r Role) Scripts(name string) bool {
	folder, _, _ := strings.Cut(name, "/")
	has := func(list string) bool {
		words := strings.Fields(list)
		return slices.Contains(words, name) || slices.Contains(words, folder+"/*")
	}
	switch r {
	case Enqueuer:
		return has(enqueuerScripts)
	case Worker:
		return has(workerScripts)
	case Reader:
		return has(readerScripts)
	}
	return has(operatorScripts) || has(readerScripts) || has(enqueuerScripts)
}

// For is the role that a call needs of a program which mostly has the role r: r itself, but for calls that r does not
// make. A plain command is one of r, except for the walk over all keys.
func (r Role) For(call *redisconn.Call) Role {
	switch {
	case call.Script == nil && call.Command == "SCAN":
		return Doctor
	case call.Script == nil || r.Scripts(call.Script.Name):
		return r
	}
	for _, other := range []Role{Enqueuer, Reader, Operator} {
		if other.Scripts(call.Script.Name) {
			return other
		}
	}
	return Worker
}

// ACL is the user rule that lets a user of that namespace do what the role needs, and nothing else.
func (r Role) ACL(namespace string) string {
	tag := escaped(namespace)
	rules := []string{"resetkeys", "'~{" + tag + "}:*'", "resetchannels", "'&{" + tag + "}:*'", "-@all"}
	for _, command := range r.Commands() {
		rules = append(rules, "+"+strings.ToLower(command))
	}
	return strings.Join(rules, " ")
}

// escaped is a namespace in a pattern.
func escaped(namespace string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(namespace)
}

// The scripts of each role: a folder, or a single one. A worker enqueues, too.
const (
	enqueuerScripts = "server/rights job/enqueue job/enqueue_several job/enqueue_mixed job/send worker/witness " +
		"worker/note_settled " +
		"object/keep object/touch object/reserve object/refer flow/store flow/seal flow/add flow/lodge " +
		"flow/advance flow/remove " +
		"result/await result/stop_waiting result/collect"
	readerScripts = "server/rights inspect/lookup inspect/page"
	workerScripts = "server/* job/* worker/* flow/* limit/* schedule/* object/* history/* result/* repair/* " +
		"partition/*"
	operatorScripts = "server/* inspect/* limit/* schedule/* flow/* object/* result/* repair/* partition/* alert/* " +
		"audit/* history/* worker/command job/send job/end job/release job/wake"
)

// The commands of each role: those of its scripts, and those that it sends without one.
const (
	connecting = "EVAL EVALSHA SELECT PING INFO TIME GET SUBSCRIBE SSUBSCRIBE"
	storing    = "BLMOVE EXEC EXISTS GETRANGE HDEL HEXISTS HGET HGETALL HINCRBY HLEN HMGET HSET LINDEX LLEN LPUSH " +
		"LPUSHX LRANGE LSET LTRIM MULTI PERSIST PEXPIRE PUBLISH RENAME RPOP RPUSH RPUSHX SADD SCARD SET SETRANGE " +
		"SISMEMBER SMEMBERS SMISMEMBER SPUBLISH SREM STRLEN UNLINK WAIT ZADD ZCARD ZCOUNT ZLEXCOUNT ZMSCORE ZRANGE " +
		"ZRANGEBYLEX ZRANGEBYSCORE ZREM ZREMRANGEBYRANK ZSCORE"
	enqueuing = storing
	reading   = "EXISTS GETRANGE HEXISTS HGET HGETALL HLEN HMGET HSCAN LINDEX LLEN LPOS LRANGE MGET PTTL SCARD " +
		"SISMEMBER SMEMBERS SMISMEMBER SSCAN STRLEN ZCARD ZCOUNT ZLEXCOUNT ZMSCORE ZRANGE ZRANGEBYLEX " +
		"ZRANGEBYSCORE ZREVRANGE ZSCAN ZSCORE"
	mending   = "HSETNX LREM TYPE ZREMRANGEBYSCORE"
	working   = storing + " " + reading + " " + mending + " BLPOP SINTER SINTERCARD"
	operating = storing + " " + reading + " " + mending
)
