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

// enqueueName is the one script that a full Redis is meant to refuse.
const enqueueName = "enqueue"

// checkFirstWrite believes the header about which write comes first; the tests at full memory do not.
func checkFirstWrite(h header, name string, uses uses, found *findings) {
	command, _, _ := strings.Cut(h.firstWrite, " ")
	command = strings.Trim(command, ",:")
	switch {
	case command == "":
		found.add(1, "the header must have a line \"-- FIRST WRITE COMMAND\"")
	case !slices.Contains(uses.commands, command):
		found.add(1, "FIRST WRITE names %s, which the script never calls", command)
	case name == enqueueName && !strings.Contains(h.firstWrite, "refuse"):
		found.add(1, "FIRST WRITE of enqueue must say that a full Redis refuses it")
	case name != enqueueName && !slices.Contains(neverRefused, command):
		found.add(1, "FIRST WRITE names %s, which Redis refuses at full memory; begin with one of %s",
			command, strings.Join(neverRefused, ", "))
	}
}
