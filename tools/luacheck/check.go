package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/gopher-lua/parse"
)

// maxCodeLines is twice what most need: a fetch, which must decide all of it in one script, needs that much.
const maxCodeLines = 125

// maxColumns is where a line ends, as those of Go do.
const maxColumns = 120

// preludeName is the file of what scripts share: it has no KEYS, returns nothing and writes nothing. It may be as long
// as it likes, since no script gets more of it than the functions that it uses.
const preludeName = "prelude"

type finding struct {
	line    int
	message string
}

// findings gathers what is wrong with one script.
type findings []finding

func (f *findings) add(line int, format string, args ...any) {
	*f = append(*f, finding{line, fmt.Sprintf(format, args...)})
}

// check returns what is wrong with the script in the file, in the order of its lines. It may use those functions of the
// prelude.
func check(file, source string, prelude functions) findings {
	var found findings
	name := strings.TrimSuffix(file, ".lua")
	if strings.HasPrefix(source, "#!") {
		found.add(1, "a shebang makes Redis refuse the script at full memory before its first line")
		return found
	}
	chunk, err := parse.Parse(strings.NewReader(source), file)
	if err != nil {
		found.add(1, "not Lua 5.1: %s", strings.Join(strings.Fields(err.Error()), " "))
		return found
	}
	checkColumns(source, &found)
	header := parseHeader(source)
	uses := inspect(chunk, &found)
	checkTitle(header, name, &found)
	if name != preludeName {
		checkParameters(header, uses, &found)
		checkReturns(header, &found)
		checkFirstWrite(header, name, uses, &found)
		checkLength(source, &found)
		checkAsks(source, chunk, prelude, &found)
	} else {
		checkSharedAsks(source, chunk, &found)
	}
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(a.line, b.line) })
	return found
}

func checkColumns(source string, found *findings) {
	number := 0
	for line := range strings.Lines(source) {
		number++
		if columns := utf8.RuneCountInString(strings.TrimRight(line, "\n")); columns > maxColumns {
			found.add(number, "the line has %d columns, more than %d", columns, maxColumns)
		}
	}
}

func checkLength(source string, found *findings) {
	code := 0
	for line := range strings.Lines(source) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "--") {
			code++
		}
	}
	if code > maxCodeLines {
		found.add(1, "%d lines of code, more than %d: split the transition, or move a decision to its caller", code,
			maxCodeLines)
	}
}
