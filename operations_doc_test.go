package work

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// operationsPage is docs/operations.md by its headings, "" for what stands before the first one.
func operationsPage(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("docs/operations.md")
	require.NoError(t, err)
	sections, title := map[string]string{}, ""
	for line := range strings.Lines(string(text)) {
		if heading, is := strings.CutPrefix(line, "#"); is && strings.HasPrefix(strings.TrimLeft(heading, "#"), " ") {
			title = strings.TrimSpace(strings.TrimLeft(heading, "#"))
			continue
		}
		sections[title] += line
	}
	return sections
}

// rowsOf are the words in code in the first column of a section's tables, and the second column of their row.
func rowsOf(section string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 2 {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			rows[name[1]] = strings.TrimSuffix(cells[1], " |")
		}
	}
	return rows
}

func namesOf[T any](m map[string]T) []string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestEveryOptionIsInTheTable compares the tables with what the packages export: the fields of each struct that is
// named ...Options, and the functions that return a type that is named ...Option. The heading of a table names the
// type.
func TestEveryOptionIsInTheTable(t *testing.T) {
	t.Parallel()
	page := operationsPage(t)
	want := map[string]map[string]bool{}
	everySource(t, func(dir string, file *ast.File) {
		if public := !strings.Contains(dir+"/", "internal/") && file.Name.Name != "main"; public &&
			ast.FileExports(file) {
			optionsIn(file, want)
		}
	})
	delete(want, "work.JobInfoOptions") // what is read of a job
	require.Contains(t, want, "work.WorkerOptions")
	require.Contains(t, want, "work.EnqueueOption")

	for of, options := range want {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			section, found := page["`"+of+"`"]
			require.True(t, found, "a heading ### `%s`", of)
			assert.Equal(t, namesOf(options), namesOf(rowsOf(section)))
		})
	}
	for title := range page {
		if of := strings.Trim(title, "`"); strings.HasPrefix(title, "`") && strings.Contains(of, "Option") {
			assert.Contains(t, want, of, "a table of what is not there any more")
		}
	}
}

// optionsIn adds the options that a file declares, by their type.
func optionsIn(file *ast.File, all map[string]map[string]bool) {
	add := func(of, name string) {
		if all[of] == nil {
			all[of] = map[string]bool{}
		}
		all[of][name] = true
	}
	for _, declared := range file.Decls {
		switch d := declared.(type) {
		case *ast.FuncDecl:
			if d.Recv != nil || d.Type.Results == nil || len(d.Type.Results.List) != 1 {
				continue
			}
			if result, is := d.Type.Results.List[0].Type.(*ast.Ident); is && strings.HasSuffix(result.Name, "Option") {
				add(file.Name.Name+"."+result.Name, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				of, is := spec.(*ast.TypeSpec)
				if !is || !strings.HasSuffix(of.Name.Name, "Options") {
					continue
				}
				if fields, is := of.Type.(*ast.StructType); is {
					for _, field := range fields.Fields.List {
						for _, name := range field.Names {
							add(file.Name.Name+"."+of.Name.Name, name.Name)
						}
					}
				}
			}
		}
	}
}

// everySource calls a function with each file of the workspace that is not for tests, and the directory that it is in.
func everySource(t *testing.T, look func(dir string, file *ast.File)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && name != "."):
			return fs.SkipDir
		case path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		look(filepath.ToSlash(filepath.Dir(name)), file)
		return nil
	}))
}

// TestDefaultsAreWhatTheTableSays: of all numbers and times that the library puts in the place of zero.
func TestDefaultsAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	page := operationsPage(t)
	compared := 0
	compare := func(of string, zero, full any) {
		rows := rowsOf(page["`"+of+"`"])
		for i := range reflect.TypeOf(full).NumField() {
			field, value := reflect.TypeOf(full).Field(i), reflect.ValueOf(full).Field(i)
			text, plain := shown(value)
			if !field.IsExported() || !plain || value.Equal(reflect.ValueOf(zero).Field(i)) {
				continue
			}
			compared++
			assert.Contains(t, rows[field.Name], text, "%s.%s", of, field.Name)
		}
	}
	compare("work.WorkerOptions", WorkerOptions{}, WorkerOptions{}.withDefaults())
	compare("work.JobOptions", JobOptions{}, JobOptions{}.withDefaults())
	assert.Greater(t, compared, 6)

	settings, err := newEnqueuerSettings(nil)
	require.NoError(t, err)
	rows := rowsOf(page["`work.EnqueuerOption`"])
	for option, value := range map[string]any{"Namespace": settings.namespace, "EnqueueTimeout": settings.timeout} {
		text, _ := shown(reflect.ValueOf(value))
		assert.Contains(t, rows[option], text, option)
	}
}

// shown is how the page writes a value, if it is a number, a text or a time.
func shown(value reflect.Value) (text string, plain bool) {
	if d, is := value.Interface().(time.Duration); is {
		if d >= 48*time.Hour {
			return fmt.Sprintf("%d days", d/day), true
		}
		return fmt.Sprintf("%d s", d/time.Second), true
	}
	switch {
	case value.Kind() == reflect.String:
		return value.String(), true
	case value.CanInt() && value.Int() >= 1<<20 && value.Int()%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", value.Int()>>20), true
	case value.CanInt():
		return regexp.MustCompile(`(\d)(\d{3})\b`).ReplaceAllString(regexp.MustCompile(`(\d)(\d{6})$`).
			ReplaceAllString(strconv.FormatInt(value.Int(), 10), "$1,$2"), "$1,$2"), true
	}
	return "", false
}

// TestEveryParameterOfADSNIsInTheTable asks the library for those that it knows.
func TestEveryParameterOfADSNIsInTheTable(t *testing.T) {
	t.Parallel()
	_, err := NewEnqueuer("redis://localhost/0?nonsense_of_a_test=1")
	require.Error(t, err)
	_, list, found := strings.Cut(err.Error(), "known are ")
	require.True(t, found, err)
	assert.Equal(t, strings.Split(list, ", "), namesOf(rowsOf(operationsPage(t)["DSN"])))
}

// TestEveryVariableIsInTheTable: of the environment, in all that is not a test itself.
func TestEveryVariableIsInTheTable(t *testing.T) {
	t.Parallel()
	read := map[string]bool{}
	everySource(t, func(dir string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			call, is := n.(*ast.CallExpr)
			if !is {
				return true
			}
			called, is := call.Fun.(*ast.SelectorExpr)
			if !is || called.Sel.Name != "Getenv" && called.Sel.Name != "LookupEnv" {
				return true
			}
			literal, is := call.Args[0].(*ast.BasicLit)
			if assert.True(t, is, "%s: a variable whose name is not written out", dir) {
				name, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				read[name] = true
			}
			return true
		})
	})
	assert.Equal(t, namesOf(read), namesOf(rowsOf(operationsPage(t)["Environment"])))
}

// TestThereIsSomethingToDoAboutEveryCheck: the page has a paragraph for each line of the doctor, and for nothing else.
func TestThereIsSomethingToDoAboutEveryCheck(t *testing.T) {
	t.Parallel()
	section := operationsPage(t)["What to do about each line of the doctor"]
	told := map[string]string{}
	for _, paragraph := range regexp.MustCompile("(?s)\n\\*\\*`([a-z-]+)`\\*\\* (.+?)\n\n").
		FindAllStringSubmatch(strings.ReplaceAll("\n"+section, "\n\n", "\n\n\n")+"\n\n", -1) {
		told[paragraph[1]] = paragraph[2]
	}
	want := map[string]bool{}
	for check := range checks {
		want[string(check)] = true
	}
	assert.Equal(t, namesOf(want), namesOf(told))
	said := map[string]string{}
	for check, text := range told {
		assert.Greater(t, len(strings.Fields(text)), 7, check)
		assert.Empty(t, said[text], check)
		said[text] = check
	}
	for _, severity := range []Severity{SeverityError, SeverityWarning, SeverityInfo} {
		assert.Contains(t, section, "**"+string(severity)+"**")
	}
}
