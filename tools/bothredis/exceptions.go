package main

import (
	"fmt"
	"os"
	"strings"
)

// exception is a test that may run on one kind of Redis only. It covers its subtests too.
type exception struct{ name, reason string }

func (e exception) covers(name string) bool {
	return name == e.name || strings.HasPrefix(name, e.name+"/")
}

// readExceptions reads lines of the form "./package TestName/redis reason in some words". Empty lines and those that
// begin with # say nothing.
func readExceptions(path string) ([]exception, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var listed []exception
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		if len(words) < 3 {
			return nil, fmt.Errorf("%s:%d: %q must be a package, a test and a reason", path, number, line)
		}
		name := words[0] + " " + words[1]
		if _, sided := counterpart(name); !sided {
			return nil, fmt.Errorf("%s:%d: %q must name the kind of Redis: end in /%s or /%s", path, number, name, real,
				embedded)
		}
		listed = append(listed, exception{name, strings.Join(words[2:], " ")})
	}
	return listed, nil
}
