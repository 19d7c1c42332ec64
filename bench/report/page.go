package report

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// marks are the lines of a page between which the tables stand.
func (r *Report) marks() (begin, end string) {
	return "<!-- " + r.Of + ":begin -->", "<!-- " + r.Of + ":end -->"
}

// WriteInto replaces what stands between the markers of a page.
func (r *Report) WriteInto(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := r.marks()
	before, rest, found := strings.Cut(string(page), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return fmt.Errorf("%s has no lines %s and %s: add them where the tables are to stand", path, begin, end)
	}
	var out bytes.Buffer
	out.WriteString(before + begin + "\n\n")
	if err := r.Markdown(&out); err != nil {
		return err
	}
	out.WriteString("\n" + end + after)
	return os.WriteFile(path, out.Bytes(), 0o644)
}
