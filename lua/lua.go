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
//	server         what the user of a connection may do
//	thoonk, worqr  the packages beside the framework
//
// Each file starts with a header that names its KEYS and ARGV in order, what it returns, and its first write, which
// must be a command that Redis never refuses for lack of memory (except in those scripts that store what is new).
package lua

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

//go:embed *.lua */*.lua
var files embed.FS

// A script says where it has the functions of the prelude that it uses, if that is not its beginning, by the line here.
// To make a function costs every call about as much as a command: a branch that few calls take is the better place.
// With the name of a function behind it, a line is where the script has that one, which may use those that the others
// have.
const (
	mark = "-- PRELUDE"
	here = mark + "\n"
)

// Source returns the text of the script called name, as Redis gets it: with the functions of prelude.lua that it uses.
// All scripts are made whenever a program starts, so this looks at each byte of a script once.
func Source(name string) (string, error) {
	script, err := files.ReadFile(name + ".lua")
	if err != nil {
		return "", fmt.Errorf("no script lua/%s.lua: %w", name, err)
	}
	text := string(script)
	late, wanted := lateOnes(text), called(text)
	places, used := map[string]string{}, []string(nil)
	for _, f := range slices.Backward(prelude()) { // one may use those before it
		switch {
		case late[f.name]:
			places[f.name] = f.text
		case wanted[f.name]:
			used = append(used, f.text)
		default:
			continue
		}
		maps.Copy(wanted, f.calls)
	}
	slices.Reverse(used)
	return assembled(text, places, strings.Join(used, ""))
}

// assembled is the text with functions at their places, and those that are used wherever where it says here, or before
// all else.
func assembled(text string, places map[string]string, used string) (string, error) {
	var whole strings.Builder
	if !strings.Contains(text, here) {
		whole.WriteString(used)
	}
	for line := range strings.Lines(text) {
		switch name, is := place(line); {
		case is && name == "":
			whole.WriteString(used)
		case is && places[name] != "":
			whole.WriteString(places[name])
		case strings.HasPrefix(strings.TrimLeft(line, " "), ask):
			question, err := asked(line)
			if err != nil {
				return "", err
			}
			whole.WriteString(question)
		default:
			whole.WriteString(line)
		}
	}
	return whole.String(), nil
}

// lateOnes are the functions that have a place of their own in a text.
func lateOnes(text string) map[string]bool {
	late := map[string]bool{}
	for line := range strings.Lines(text) {
		if name, is := place(line); is && name != "" {
			late[name] = true
		}
	}
	return late
}

// place tells whether a line is one where functions of the prelude go, and which one does: "" for all others.
func place(line string) (name string, is bool) {
	rest, is := strings.CutPrefix(strings.TrimLeft(line, " "), mark)
	return strings.TrimSpace(rest), is
}
