package doctest_test

import (
	"bytes"
	"go/ast"
	"go/token"
	"io"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/inside"
)

// sectionsOf is a page by its headings of the second level, "" for what stands before the first one.
func sectionsOf(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	sections, title := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if heading, is := strings.CutPrefix(line, "## "); is {
			title = strings.Trim(strings.TrimSpace(heading), "`")
		}
		sections[title] += line
	}
	return sections
}

// namedInRows are the words in code in the first column of a section's tables, each as often as it stands there.
func namedInRows(section string) (names []string) {
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		first, _, _ := strings.Cut(line, " | ")
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			names = append(names, name[1])
		}
	}
	slices.Sort(names)
	return names
}

// TestEveryEventIsInTheList compares docs/events.md with the package and with what is logged.
func TestEveryEventIsInTheList(t *testing.T) {
	t.Parallel()
	sections := sectionsOf(t, "docs/events.md")
	assert.Equal(t, declared(t, "outbox", "event"), namedInRows(sections["Of the outbox"]))
	delete(sections, "Of the outbox")
	page := ""
	for _, section := range sections {
		page += section
	}
	assert.Equal(t, declared(t, "event", "event"), namedInRows(page))

	levels := rowsOf(page)
	for _, e := range allEvents() {
		name := reflect.TypeOf(e).Name()
		var log bytes.Buffer
		emitTo(&log)(e)
		level := regexp.MustCompile(`level=(\w+)`).FindStringSubmatch(log.String())
		if assert.NotNil(t, level, name) {
			said, _, _ := strings.Cut(levels[name], ",")
			assert.Equal(t, strings.ToLower(level[1]), said, name)
		}
	}
}

// TestEveryErrorIsInTheList compares docs/errors.md with what the packages export: variables that begin with Err, and
// types that are errors.
func TestEveryErrorIsInTheList(t *testing.T) {
	t.Parallel()
	want := map[string][]string{}
	everySource(t, func(dir string, file *ast.File) {
		if strings.Contains(dir+"/", "internal/") || strings.HasPrefix(dir, "examples") || file.Name.Name == "main" {
			return
		}
		want[file.Name.Name] = append(want[file.Name.Name], errorsIn(file)...)
	})
	for name, section := range sectionsOf(t, "docs/errors.md") {
		slices.Sort(want[name])
		if found := namedInRows(section); len(found)+len(want[name]) > 0 {
			assert.Equal(t, want[name], found, "the section %s of docs/errors.md", name)
		}
		delete(want, name)
	}
	for name, missing := range want {
		assert.Empty(t, missing, "docs/errors.md has no section `%s`", name)
	}
}

// errorsIn are the errors that a file exports.
func errorsIn(file *ast.File) (names []string) {
	for _, declared := range file.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil && d.Name.Name == "Error" {
				if name := receiver(d); ast.IsExported(name) {
					names = append(names, name)
				}
			}
		case *ast.GenDecl:
			if d.Tok != token.VAR {
				continue
			}
			for _, spec := range d.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if ast.IsExported(name.Name) && strings.HasPrefix(name.Name, "Err") {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// emitTo passes events on to a log that takes all of them, and to observers.
func emitTo(log io.Writer, observers ...work.Observer) func(event.Event) {
	all := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	pool := work.NewWorkerPool(nil, 1,
		work.WorkerOptions{Redis: "redis://localhost", Logger: all, Observers: observers})
	return inside.Enqueuer(pool.Enqueuer()).Emit
}

func receiver(d *ast.FuncDecl) string {
	of := d.Recv.List[0].Type
	if star, is := of.(*ast.StarExpr); is {
		of = star.X
	}
	name, is := of.(*ast.Ident)
	if !is {
		return ""
	}
	return name.Name
}
