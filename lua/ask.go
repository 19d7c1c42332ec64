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

// asked is the Lua of a line that asks. The key is the first that the script is given: a user has rights to all keys of
// a namespace, or to none. The question is asked within pcall, since it raises where a command has another name.
func asked(line string) (string, error) {
	commands := strings.TrimPrefix(strings.TrimLeft(line, " "), ask)
	condition, rest, is := strings.Cut(commands, ":")
	if is {
		commands = rest
	} else {
		condition = "true"
	}
	var questions []string
	for _, command := range strings.Fields(commands) {
		args, err := argsOf(command)
		if err != nil {
			return "", fmt.Errorf("the line %q: %w", strings.TrimSpace(line), err)
		}
		questions = append(questions, args)
	}
	const refuse = "return redis.error_reply('NOPERM this user may not run ' .. no .. ', which the script needs: " +
		"nothing was changed')"
	if len(questions) == 1 { // most scripts that are called for each job ask one, and a closure costs as much
		return fmt.Sprintf("if redis.acl_check_cmd and (%s) then\n"+
			"  local known, may = pcall(redis.acl_check_cmd, %s)\n  local no = '%s'\n"+
			"  if known and not may then %s end\nend\n",
			condition, questions[0], strings.ToLower(strings.TrimSpace(commands)), refuse), nil
	}
	var all strings.Builder
	for i, command := range strings.Fields(commands) {
		fmt.Fprintf(&all, "\n      or not ask(%s) and '%s'", questions[i], strings.ToLower(command))
	}
	return fmt.Sprintf("if redis.acl_check_cmd and (%s) then\n  local ask = redis.acl_check_cmd\n"+
		"  local known, no = pcall(function()\n    return false%s\n  end)\n  if known and no then %s end\nend\n",
		condition, all.String(), refuse), nil
}

// argsOf is the call that is asked about, with as many arguments as the command takes at the least.
func argsOf(command string) (string, error) {
	if command == "TIME" { // it has no key
		return "'TIME'", nil
	}
	more, known := further[command]
	if !known {
		return "", fmt.Errorf("lua/ask.go does not know how many arguments %s takes", command)
	}
	argument := ", '1'"
	if command == "RENAME" { // what it takes there is a key as well
		argument = ", KEYS[1]"
	}
	return fmt.Sprintf("'%s', KEYS[1]%s", command, strings.Repeat(argument, more)), nil
}
