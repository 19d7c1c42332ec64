package lua

import (
	"fmt"
	"strings"
)

// Redis does not roll back: a script whose user may use only some of its commands would stop in its middle. So a script
// asks, before its first write, for those commands that it uses behind that write and did not use before it:
//
//	-- ASK HDEL HSET
//	-- ASK ruled > 0: SADD SET
//
// The second form asks only where that holds. The line stands where the script may still return, at the first place
// that knows which branch is taken. It becomes a few lines of Lua that return an error with the code NOPERM if Redis
// would refuse one of the commands. A server without redis.acl_check_cmd, such as the embedded one, is not asked.
const ask = "-- ASK "

// further is how many arguments each command takes at the least behind its key. Some servers read out of bounds when
// redis.acl_check_cmd is given fewer.
var further = map[string]int{
	"APPEND": 1, "EXISTS": 0, "GET": 0, "HDEL": 1, "HEXISTS": 1, "HGET": 1, "HGETALL": 0, "HINCRBY": 2, "HKEYS": 0,
	"HLEN": 0, "HMGET": 1, "HSET": 2, "HSETNX": 2, "INCR": 0, "INCRBY": 1, "LINDEX": 1, "LINSERT": 3, "LLEN": 0,
	"LPOS": 1, "LPUSH": 1, "LPUSHX": 1, "LRANGE": 2, "LREM": 2, "LSET": 2, "LTRIM": 2, "PERSIST": 0, "PEXPIRE": 1,
	"PEXPIREAT": 1, "PTTL": 0, "RENAME": 1, "RPOP": 0, "RPUSH": 1, "RPUSHX": 1, "SADD": 1, "SCARD": 0, "SET": 1,
	"SETNX": 1, "SETRANGE": 2, "SISMEMBER": 1, "SMEMBERS": 0, "SMISMEMBER": 1, "SREM": 1, "STRLEN": 0, "TYPE": 0,
	"UNLINK": 0, "ZADD": 2, "ZCARD": 0, "ZCOUNT": 2, "ZINCRBY": 2, "ZLEXCOUNT": 2, "ZMSCORE": 1, "ZRANGE": 2,
	"ZRANGEBYLEX": 2, "ZRANGEBYSCORE": 2, "ZRANK": 1, "ZREM": 1, "ZREMRANGEBYLEX": 2, "ZREMRANGEBYRANK": 2,
	"ZREMRANGEBYSCORE": 2, "ZREVRANGE": 2, "ZSCORE": 1,
}

// askedIn is a function of the prelude with the Lua of the lines that ask.
func askedIn(function string) (string, error) {
	if !strings.Contains(function, ask) {
		return function, nil
	}
	return assembled(function, nil, "")
}

// asked is the Lua of a line that asks. The key is the first that the script is given: a user has rights to all
// keys of a namespace, or to none.
func asked(line string) (string, error) {
	commands := strings.TrimPrefix(strings.TrimLeft(line, " "), ask)
	begin := "do"
	if condition, rest, is := strings.Cut(commands, ":"); is {
		commands, begin = rest, "if "+condition+" then"
	}
	var lines strings.Builder
	lines.WriteString(begin + "\n  local ask, key = redis.acl_check_cmd, KEYS[1]\n" +
		"  local known, no = pcall(function()\n" +
		"    return ask and (false")
	for _, command := range strings.Fields(commands) {
		more, known := further[command]
		if command == "TIME" { // it has no key
			fmt.Fprintf(&lines, "\n      or not ask('TIME') and 'time'")
			continue
		}
		if !known {
			return "", fmt.Errorf("the line %q: lua/ask.go does not know how many arguments %s takes",
				strings.TrimSpace(line), command)
		}
		argument := ", '1'"
		if command == "RENAME" { // what it takes there is a key as well
			argument = ", key"
		}
		fmt.Fprintf(&lines, "\n      or not ask('%s', key%s) and '%s'", command, strings.Repeat(argument, more),
			strings.ToLower(command))
	}
	lines.WriteString(")\n  end)\n  if known and no then\n" +
		"    return redis.error_reply('NOPERM this user may not run ' .. no ..\n" +
		"      ', which the script needs: nothing was changed')\n" +
		"  end\nend\n")
	return lines.String(), nil
}
