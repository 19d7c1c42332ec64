package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	modulePath = "github.com/265d0351/work"
	embedded   = "embedded"
	real       = "redis"
	leftByRace = "left to the run without the race detector" // as redistest.LeftByRace, which is of another module
)

// comparison tells which tests ran where.
type comparison struct {
	both     int
	oneSided []string // "<package> <test>", with its "embedded" or "redis"
}

// compare pairs the tests whose names differ in nothing but "embedded" and "redis". One that was skipped has not run,
// but for one that redistest left to the run without the race detector: it stands for all below it.
func compare(events []event) comparison {
	ran, left := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		switch {
		case e.Test == "":
		case e.Action == "pass", e.Action == "fail":
			ran[label(e)] = true
		case e.Action == "output" && strings.Contains(e.Output, leftByRace):
			left[label(e)] = true
		}
	}
	var c comparison
	for name := range left {
		if other, sided := counterpart(name); sided && !ran[other] && !left[other] {
			c.oneSided = append(c.oneSided, name)
		}
	}
	for name := range ran {
		other, sided := counterpart(name)
		switch {
		case !sided:
		case ran[other] && strings.Contains(name, "/"+embedded):
			// counted from its other side
		case ran[other], below(other, left):
			c.both++
		default:
			c.oneSided = append(c.oneSided, name)
		}
	}
	slices.Sort(c.oneSided)
	return c
}

// below tells whether the test is one of those or a subtest of one.
func below(name string, those map[string]bool) bool {
	for {
		if those[name] {
			return true
		}
		end := strings.LastIndex(name, "/")
		if end < 0 {
			return false
		}
		name = name[:end]
	}
}

// label is how a person writes the test: "./integration TestStop/redis", with "." for the root package.
func label(e event) string {
	path := "." + strings.TrimPrefix(e.Package, modulePath)
	if !strings.HasPrefix(e.Package, modulePath) {
		path = e.Package
	}
	return path + " " + e.Test
}

// counterpart returns the name of the same test on the other kind of Redis. The first part of a name is the test
// function, which is no kind.
func counterpart(name string) (string, bool) {
	path, test, _ := strings.Cut(name, " ")
	parts := strings.Split(test, "/")
	for i := 1; i < len(parts); i++ {
		switch parts[i] {
		case embedded:
			parts[i] = real
		case real:
			parts[i] = embedded
		default:
			continue
		}
		return path + " " + strings.Join(parts, "/"), true
	}
	return "", false
}

// complaints are one sentence per test that ran on one kind and is not listed, and per listed one that should not be.
func (c comparison) complaints(listed []exception) []string {
	var found []string
	for _, name := range c.oneSided {
		if !slices.ContainsFunc(listed, func(e exception) bool { return e.covers(name) }) {
			other, _ := counterpart(name)
			found = append(found, fmt.Sprintf("%s ran, but not %s: make it run on both, or list it with a reason", name,
				other))
		}
	}
	for _, e := range listed {
		if !slices.ContainsFunc(c.oneSided, e.covers) {
			found = append(found, fmt.Sprintf(
				"%s is listed as running on one kind of Redis only, which it does not: remove it", e.name))
		}
	}
	if c.both == 0 {
		found = append(found, "no test ran on both kinds of Redis: nothing was compared")
	}
	return found
}
