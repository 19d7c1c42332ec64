package console

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/265d0351/work/cmd/work/internal/human"
)

// Show prints one thing: a JSON object on a line, or what is said of it to a person.
func (c *Console) Show(thing any, lines func(*Console) []string) error {
	return ShowAll(c, []any{thing}, lines)
}

// ShowAll prints several things: a JSON object on a line for each, or what is said of all of them to a person.
func ShowAll[T any](c *Console, things []T, lines func(*Console) []string) error {
	out := bufio.NewWriter(c.Out)
	if c.JSON {
		encoder := NewEncoder(out)
		for _, thing := range things {
			if err := encoder.Encode(thing); err != nil {
				return errors.Join(out.Flush(), err)
			}
		}
		return out.Flush()
	}
	for _, line := range lines(c) {
		fmt.Fprintln(out, line)
	}
	return out.Flush()
}

// List prints things, as a table for a person. Where there are none it says so beside the output, which stays empty.
func List[T any](c *Console, things []T, none string, as func([]T) *Table) error {
	if len(things) == 0 {
		c.Note("%s", none)
		return nil
	}
	return ShowAll(c, things, func(c *Console) []string { return as(things).Render(c) })
}

// Note says something beside the output.
func (c *Console) Note(format string, args ...any) {
	if !c.Quiet {
		fmt.Fprintf(c.Err, "%s: %s\n", c.Command, fmt.Sprintf(format, args...))
	}
}

// Tell says what was done, unless only what is wrong is wanted.
func (c *Console) Tell(thing any, text string) error {
	if c.Quiet && !c.JSON {
		return nil
	}
	return c.Show(thing, func(c *Console) []string { return human.Wrap(text, c.Width) })
}

// NewEncoder writes args as they are stored, which are no HTML. An older program may have stored bytes that are
// not UTF-8, which no program could read: U+FFFD replaces them.
func NewEncoder(out io.Writer) *json.Encoder {
	encoder := json.NewEncoder(textWriter{out})
	encoder.SetEscapeHTML(false)
	return encoder
}

// textWriter makes UTF-8 of JSON, which an encoder writes line by line.
type textWriter struct{ out io.Writer }

func (w textWriter) Write(line []byte) (int, error) {
	if _, err := w.out.Write(bytes.ToValidUTF8(line, []byte("\uFFFD"))); err != nil {
		return 0, err
	}
	return len(line), nil
}
