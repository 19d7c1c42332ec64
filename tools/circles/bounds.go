package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// bounds are what packages may grow to: those that are named, and "*" for all others.
type bounds map[string]figures

// readBounds reads lines of "package files lines exported arrows circle", where a dash sets no bound. What follows # is
// a remark. Without a file there are no bounds.
func readBounds(path string) (bounds, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //lint:ignore errcheck it was read
	read := bounds{}
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 6 {
			return nil, fmt.Errorf("%s:%d: %q is not \"package files lines exported arrows circle\"", path, n, text)
		}
		var of figures
		for i, number := range []*int{&of.files, &of.lines, &of.exported, &of.arrows, &of.circle} {
			*number = noBound
			if fields[i+1] == "-" {
				continue
			}
			if _, err := fmt.Sscan(fields[i+1], number); err != nil {
				return nil, fmt.Errorf("%s:%d: %q is no number", path, n, fields[i+1])
			}
		}
		read[fields[0]] = of
	}
	return read, lines.Err()
}

const noBound = int(^uint(0) >> 1)

// complaints are a sentence for each figure that is above its bound.
func (b bounds) complaints(name string, f figures) (found []string) {
	most, named := b[name]
	if !named {
		if most, named = b["*"]; !named {
			return nil
		}
	}
	for _, row := range []struct {
		what     string
		is, most int
	}{
		{"files", f.files, most.files}, {"lines", f.lines, most.lines}, {"exported names", f.exported, most.exported},
		{"arrows between files", f.arrows, most.arrows}, {"files in one circle", f.circle, most.circle},
	} {
		if row.is > row.most {
			found = append(found, fmt.Sprintf("%s has %d %s, more than %d: let files use each other in one "+
				"direction, or give a part a package of its own", name, row.is, row.what, row.most))
		}
	}
	return found
}
