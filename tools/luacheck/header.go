package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// header is the comment that a script begins with.
type header struct {
	title      string
	parameters map[string]parameters // "KEYS" and "ARGV"
	returns    string
	firstWrite string
	lines      int
}

// parameters are the indexes of KEYS or ARGV that a header documents.
type parameters struct {
	single []int
	from   int // of KEYS[n..]; 0 when there is none
}

func (p parameters) documents(index int) bool {
	return slices.Contains(p.single, index) || p.from > 0 && index >= p.from
}

var parameter = regexp.MustCompile(`\b(KEYS|ARGV)\[(\d+)(\.\.)?\]`)

func parseHeader(source string) header {
	h := header{parameters: map[string]parameters{}}
	listing := false // from the first line that begins with a parameter to RETURNS
	for line := range strings.Lines(source) {
		text, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "--")
		if !ok {
			break
		}
		h.lines++
		text = strings.TrimSpace(text)
		if h.lines == 1 {
			h.title = text
		}
		at := parameter.FindStringIndex(text)
		listing = listing || at != nil && at[0] == 0
		switch {
		case strings.HasPrefix(text, "RETURNS"):
			h.returns, listing = strings.TrimSpace(strings.TrimPrefix(text, "RETURNS")), false
		case strings.HasPrefix(text, "FIRST WRITE"):
			h.firstWrite, listing = strings.TrimSpace(strings.TrimPrefix(text, "FIRST WRITE")), false
		case listing:
			h.document(text)
		}
	}
	return h
}

func (h *header) document(text string) {
	for _, match := range parameter.FindAllStringSubmatch(text, -1) {
		index, err := strconv.Atoi(match[2])
		if err != nil {
			continue // more digits than a number has: it documents nothing
		}
		p := h.parameters[match[1]]
		if match[3] == "" {
			p.single = append(p.single, index)
		} else {
			p.from = index
		}
		h.parameters[match[1]] = p
	}
}

func checkTitle(h header, name string, found *findings) {
	if says, ok := strings.CutPrefix(h.title, name+": "); !ok || strings.TrimSpace(says) == "" {
		found.add(1, "the first line must be \"-- %s: one line of what it does\"", name)
	}
}

func checkReturns(h header, found *findings) {
	if h.returns == "" {
		found.add(1, "the header must have a line \"-- RETURNS ...\"")
	}
}

// checkParameters compares what the header documents with what the body uses.
func checkParameters(h header, uses uses, found *findings) {
	for _, table := range []string{"KEYS", "ARGV"} {
		documented := h.parameters[table]
		checkOrder(table, documented, found)
		use := uses.tables[table]
		for _, index := range use.indexes {
			if !documented.documents(index.number) {
				found.add(index.line, "%s[%d] is used and not in the header", table, index.number)
			}
		}
		if use.computed > 0 && documented.from == 0 {
			found.add(use.computed, "%s is indexed by a computed number and the header has no %s[n..]", table, table)
		}
		if use.unpacked > 0 && documented.from == 0 && len(documented.single) == 0 {
			found.add(use.unpacked, "%s is used and the header lists none", table)
		}
		for _, index := range documented.single {
			if use.computed+use.unpacked == 0 && !use.has(index) {
				found.add(1, "%s[%d] is in the header and not used", table, index)
			}
		}
	}
}

// checkOrder wants 1, 2, 3 and so on, and then the rest as one range: a caller counts them off.
func checkOrder(table string, documented parameters, found *findings) {
	for i, index := range documented.single {
		if index != i+1 {
			found.add(1, "the header lists %s[%d] where %s[%d] should follow", table, index, table, i+1)
			return
		}
	}
	if next := len(documented.single) + 1; documented.from > 0 && documented.from != next {
		found.add(1, "the header lists %s[%d..] where %s[%d..] should follow", table, documented.from, table, next)
	}
}
