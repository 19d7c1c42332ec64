// Package lua holds the scripts that change what is in Redis, one file per transition, in folders by what they change:
//
//	job            what a program and a worker do with jobs: store, fetch, end, put off, log
//	worker         workers: their heartbeats, what they serve, who is dead
//	flow           jobs that belong together
//	limit          limits and pauses
//	schedule       jobs that come back
//	object         contents that jobs share
//	history        what is counted
//	result         outcomes that somebody waits for, and completion queues
//	inspect        what a person or a program asks, and does by hand
//	repair         what the janitor and the doctor mend
//	thoonk, worqr  the packages beside the framework
//
// Each file starts with a header that names its KEYS and ARGV in order, what it returns, and its first write, which
// must be a command that Redis never refuses for lack of memory (except in those scripts that store what is new).
package lua

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed *.lua */*.lua
var files embed.FS

// shared finds the functions of prelude.lua.
var shared = regexp.MustCompile(`(?ms)^local function (\w+)\(.*?^end\n`)

// here is the line at which a script has the functions of the prelude that it uses, if that is not its beginning. To
// make a function costs every call about as much as a command: a branch that few calls take is the better place.
const here = "-- PRELUDE\n"

// hereOnly is a line at which a script has one function of the prelude, which may use those that the others have.
var hereOnly = regexp.MustCompile(`(?m)^ *-- PRELUDE (\w+)\n`)

// Source returns the text of the script called name, as Redis gets it: with the functions of prelude.lua that it uses.
func Source(name string) (string, error) {
	script, err := files.ReadFile(name + ".lua")
	if err != nil {
		return "", fmt.Errorf("no script lua/%s.lua: %w", name, err)
	}
	text, used := string(script), ""
	late := map[string]bool{}
	for _, line := range hereOnly.FindAllStringSubmatch(text, -1) {
		late[line[1]] = true
	}
	for _, function := range slices.Backward(prelude()) { // one may use those before it
		if late[function[1]] {
			text = regexp.MustCompile(`(?m)^ *-- PRELUDE `+function[1]+`\n`).ReplaceAllLiteralString(text, function[0])
			continue
		}
		if calls(used+text, function[1]) {
			used = function[0] + used
		}
	}
	if strings.Contains(text, here) {
		return strings.Replace(text, here, used, 1), nil
	}
	return used + text, nil
}

// prelude are the functions of prelude.lua, each with its name behind it.
var prelude = sync.OnceValue(func() [][]string {
	text, err := files.ReadFile("prelude.lua")
	if err != nil {
		panic(err) // it is embedded
	}
	functions := shared.FindAllStringSubmatch(string(text), -1)
	if len(functions) == 0 {
		panic("no function in lua/prelude.lua: are its lines ended by a line feed alone?")
	}
	return functions
})

// calls tells whether a text may call the function. One too many does no harm.
func calls(text, function string) bool { return strings.Contains(text, function+"(") }
