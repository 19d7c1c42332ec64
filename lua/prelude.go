package lua

import (
	"strings"
	"sync"
)

// function is one of prelude.lua.
type function struct {
	name, text string
	calls      map[string]bool // what it may call
}

// prelude are the functions of prelude.lua, in their order.
var prelude = sync.OnceValue(func() (functions []function) {
	content, err := files.ReadFile("prelude.lua")
	if err != nil {
		panic(err) // it is embedded
	}
	const begin, end = "\nlocal function ", "\nend\n"
	_, rest, more := strings.Cut("\n"+string(content), begin)
	for more {
		var body string
		body, rest, _ = strings.Cut(rest, end)
		name, _, _ := strings.Cut(body, "(")
		text, err := askedIn(begin[1:] + body + end)
		if err != nil {
			panic(err) // it is embedded
		}
		functions = append(functions, function{name: name, text: text, calls: called(body)})
		_, rest, more = strings.Cut("\n"+rest, begin)
	}
	if len(functions) == 0 {
		panic("no function in lua/prelude.lua: are its lines ended by a line feed alone?")
	}
	return functions
})

// called are the names that a text may call: those before a bracket, and the one that pcall is given. One too many does
// no harm.
func called(text string) map[string]bool {
	names := map[string]bool{}
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:], '(')
		if next < 0 {
			return names
		}
		at += next
		from := at
		for from > 0 && isWord(text[from-1]) {
			from--
		}
		if from < at {
			names[text[from:at]] = true
		}
		if text[from:at] == "pcall" {
			to := at + 1
			for to < len(text) && isWord(text[to]) {
				to++
			}
			names[text[at+1:to]] = true
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
