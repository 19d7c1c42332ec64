package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/rivo/uniseg"
)

// fact is one line of the summary: a word, and what is to be said about it.
type fact struct{ word, text string }

// render wraps the text beside the word, or below it where there is little room.
func (f fact) render(c *console) []string {
	const margin = 10
	if c.width > 0 && c.width < 3*margin {
		return append([]string{c.paint(faint, f.word)}, fold(f.text, c.width)...)
	}
	width := 0
	if c.width > 0 {
		width = c.width - margin
	}
	lines := fold(f.text, width)
	for i, line := range lines {
		word := strings.Repeat(" ", margin)
		if i == 0 {
			word = c.paint(faint, fmt.Sprintf("%-*s", margin, f.word))
		}
		lines[i] = word + line
	}
	return lines
}

// wrap breaks text where the terminal ends.
func (c *console) wrap(s style, text string) []string {
	lines := fold(text, c.width)
	for i := range lines {
		lines[i] = c.paint(s, lines[i])
	}
	return lines
}

// fold breaks text at spaces into lines of at most width, where the words allow it; 0 is no limit.
func fold(text string, width int) []string {
	if width <= 0 || uniseg.StringWidth(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// String rounds to what a person wants to know.
func (s seconds) String() string {
	d := time.Duration(s)
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// String tells it in a sentence.
func (k *kill) String() string {
	text := fmt.Sprintf("process %d (pid %d) with SIGKILL while it was running %s", k.Process, k.PID,
		counted(k.Held, "job"))
	if k.Held > 0 {
		text += fmt.Sprintf("; the last of them was begun again elsewhere after %s", k.Restart)
	}
	if k.Repeated > 0 {
		text += fmt.Sprintf("; %s that it had run were run again, since it could not tell their end",
			counted(k.Repeated, "job"))
	}
	return text
}

// where says which Redis was used, and what is left there: no worker is, that would remove the results when their
// retention is over.
func (d *demo) where() []fact {
	if d.redis == "" {
		return []fact{{"redis", "embedded in this process, gone with it"}}
	}
	return []fact{
		{"redis", fmt.Sprintf("%s, where the results of this run are left in namespace %s", redacted(d.redis),
			d.namespace)},
		{"remove", fmt.Sprintf("redis-cli -u DSN --scan --pattern '{%s}:*' | xargs redis-cli -u DSN unlink",
			d.namespace)},
	}
}
