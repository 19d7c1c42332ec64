package main

import (
	"slices"
	"strings"
)

// neverRefused are the writes that Redis executes at maxmemory. It checks the memory only before a script's first
// write, so a script that begins with one of them goes through.
var neverRefused = []string{
	"PEXPIRE", "LREM", "RPOP", "ZREM", "SREM", "HDEL", "SPOP", "UNLINK", "PERSIST", "EXPIRE", "LTRIM", "LPOP",
}

// storing are the scripts that a full Redis is meant to refuse: they store what is new.
var storing = []string{"job/enqueue", "job/enqueue_several", "job/enqueue_mixed", "inspect/again", "schedule/tick",
	"job/log", "job/save",
	"partition/receive", "partition/keep", "flow/store", "flow/add", "flow/lodge",
	"thoonk/create", "thoonk/configure", "thoonk/publish", "thoonk/reserve", "thoonk/insert", "thoonk/edit",
	"thoonk/put", "recurring/define", "recurring/add",
	"worqr/enqueue",
}

// reading are the commands that write nothing, as all are of scripts whose header says "FIRST WRITE none".
var reading = []string{
	"TIME", "TYPE", "EXISTS", "PTTL", "GET", "MGET", "STRLEN", "HGET", "HMGET", "HGETALL", "HKEYS", "HLEN", "HEXISTS",
	"ZSCORE", "ZMSCORE", "ZCARD", "ZCOUNT", "ZLEXCOUNT", "ZRANGE", "ZRANGEBYLEX", "ZRANGEBYSCORE", "ZREVRANGE",
	"LLEN", "LPOS", "LRANGE", "LINDEX", "SCARD", "SISMEMBER", "SMISMEMBER", "SMEMBERS",
}

// checkFirstWrite believes the header about which write comes first; the tests at full memory do not.
func checkFirstWrite(h header, name string, uses uses, found *findings) {
	command, _, _ := strings.Cut(h.firstWrite, " ")
	command = strings.Trim(command, ",:")
	switch {
	case command == "":
		found.add(1, "the header must have a line \"-- FIRST WRITE COMMAND\"")
	case command == "none":
		for _, called := range uses.commands {
			if !slices.Contains(reading, called) {
				found.add(1, "FIRST WRITE says none, and the script calls %s: name its first write, or add what only "+
					"reads to reading", called)
			}
		}
	case !slices.Contains(uses.commands, command):
		found.add(1, "FIRST WRITE names %s, which the script never calls", command)
	case slices.Contains(storing, name) && !strings.Contains(h.firstWrite, "refuse"):
		found.add(1, "FIRST WRITE of %s must say that a full Redis refuses it", name)
	case !slices.Contains(storing, name) && !slices.Contains(neverRefused, command):
		found.add(1, "FIRST WRITE names %s, which Redis refuses at full memory; begin with one of %s",
			command, strings.Join(neverRefused, ", "))
	}
}
