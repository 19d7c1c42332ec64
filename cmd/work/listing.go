package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// show prints one thing: a JSON object on a line, or what is said of it to a person.
func (a *app) show(thing any, lines func(*console) []string) error {
	return showAll(a, []any{thing}, lines)
}

// showAll prints several things: a JSON object on a line for each, or what is said of all of them to a person.
func showAll[T any](a *app, things []T, lines func(*console) []string) error {
	out := bufio.NewWriter(a.out)
	if a.json {
		encoder := newEncoder(out)
		for _, thing := range things {
			if err := encoder.Encode(thing); err != nil {
				return errors.Join(out.Flush(), err)
			}
		}
		return out.Flush()
	}
	for _, line := range lines(newConsole(a)) {
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}

// newEncoder writes args as they are stored, which are no HTML.
func newEncoder(out io.Writer) *json.Encoder {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder
}

// list prints things, as a table for a person. Where there are none it says so beside the output, which stays empty.
func list[T any](a *app, things []T, none string, as func([]T) *table) error {
	if len(things) == 0 {
		a.note("%s", none)
		return nil
	}
	return showAll(a, things, func(c *console) []string { return as(things).render(c) })
}

// note says something beside the output.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		fmt.Fprintf(a.err, "%s: %s\n", a.path, fmt.Sprintf(format, args...))
	}
}

// factLines are facts, without those of which there is nothing to say.
func factLines(c *console, facts []fact) []string {
	var lines []string
	for _, f := range facts {
		if f.text != "" {
			lines = append(lines, f.render(c)...)
		}
	}
	return lines
}

// tell says what was done, unless only what is wrong is wanted.
func (a *app) tell(thing any, text string) error {
	if a.quiet && !a.json {
		return nil
	}
	return a.show(thing, func(c *console) []string { return fold(text, c.width) })
}
