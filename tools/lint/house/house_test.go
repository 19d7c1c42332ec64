// The analyzers look at one package after the other. Under the race detector reading those of the standard library
// takes half a minute.

//go:build !race

package house_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/265d0351/work/tools/lint/house"
)

// look is an analyzer, and the packages that say in their comments what it is to find in them; whatever else it finds,
// or does not, fails the test.
type look struct {
	name     string
	analyzer *analysis.Analyzer
	packages []string
}

// The packages of these are below testdata/<analyzer>.
func TestFindings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	all := []look{
		{"", house.Layers, []string{house.Root, house.Root + "/cmd/work", house.Root + "/internal/rdb"}},
		{"", house.Params, []string{"signatures"}},
		{"", house.TestSleep, []string{"sleeping"}},
		{"", house.ExportedDoc, []string{"documented"}},
		{"", house.Names, []string{"util", "counters"}},
	}
	for i, l := range all {
		all[i].name = l.analyzer.Name
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(analysistest.TestData(), l.analyzer.Name))); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range sizes() {
		name := fmt.Sprintf("a%d", i)
		file := filepath.Join(dir, "src", name, c.file)
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(c.source), 0o644))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, look{c.name, c.analyzer, []string{name}})
	}
	examine(t, dir, all)
}

// These are of the same names as others.
func TestFindingsOfPanics(t *testing.T) {
	t.Parallel()
	examine(t, filepath.Join(analysistest.TestData(), house.NoPanic.Name),
		[]look{{house.NoPanic.Name, house.NoPanic, []string{house.Root, house.Root + "/cmd/work"}}})
}

// examine reads all packages at once and gives each to its analyzer: with a test comes package testing and all below
// it, and to read that for every look took longer than everything else.
func examine(t *testing.T, dir string, all []look) {
	t.Helper()
	of, packages := map[string]*analysis.Analyzer{}, []string{}
	for _, l := range all {
		for _, name := range l.packages {
			of[name] = l.analyzer
			packages = append(packages, name)
		}
	}
	var wrong complaints
	seen := map[string]bool{}
	results := analysistest.Run(&wrong, dir, &analysis.Analyzer{Name: "each", Doc: "asks the analyzer of a package",
		Run: func(pass *analysis.Pass) (any, error) {
			name, _, _ := strings.Cut(strings.TrimSuffix(pass.Pkg.Path(), "_test"), " ")
			name = strings.TrimSuffix(name, ".test")
			return of[name].Run(pass)
		}}, packages...)
	for _, result := range results {
		seen[strings.TrimSuffix(result.Action.Package.PkgPath, "_test")] = true
	}
	for _, l := range all {
		t.Run(l.name, func(t *testing.T) {
			for _, name := range l.packages {
				if !seen[name] {
					t.Errorf("nobody looked at %s", name)
				}
				for _, text := range wrong.take(name + "/") {
					t.Error(text)
				}
			}
		})
	}
	for _, text := range wrong {
		t.Error(text)
	}
}

// complaints are what is wrong with the findings of an analyzer.
type complaints []string

func (c *complaints) Errorf(format string, args ...any) {
	*c = append(*c, fmt.Sprintf(format, args...))
}

// take removes those about files of a folder, and returns them.
func (c *complaints) take(folder string) (taken []string) {
	*c = slices.DeleteFunc(*c, func(text string) bool {
		about := strings.HasPrefix(text, folder)
		if about {
			taken = append(taken, text)
		}
		return about
	})
	return taken
}

// sized is a file, and what its lines say is to be found in it.
type sized struct {
	name     string
	analyzer *analysis.Analyzer
	file     string
	source   string
}

func sizes() []sized {
	return []sized{
		{"a file of 450 lines", house.FileSize, "a.go", file(450, "")},
		{"a file of 451 lines", house.FileSize, "a.go", file(451, " // want `the file has 451 lines, more than 450`")},
		{"a test file of 451 lines", house.FileSize, "a_test.go", file(451, " // want `the file has 451 lines`")},
		{"a function of 60 lines", house.FuncSize, "a.go", function(60, "")},
		{"a function of 61 lines", house.FuncSize, "a.go", function(61, " // want `long has 61 lines, more than 60`")},
		{"a test function of 61 lines", house.FuncSize, "a_test.go", function(61, "")},
		{"a line of 120 columns", house.LineLength, "a.go", line(120, "")},
		{"a line of 121 columns", house.LineLength, "a.go", line(121, tooLong)},
		{"a line of 121 columns of a test", house.LineLength, "a_test.go", line(121, tooLong)},
		{"120 letters of two bytes", house.LineLength, "a.go", "package a\n\n// " + strings.Repeat("ü", 117) + "\n"},
		{"a tab is 4", house.LineLength, "a.go",
			"package a\n\nfunc a() {\n\t//" + strings.Repeat("x", 115) + tooLong + "\n}\n"},
		{"a raw string is broken by nobody", house.LineLength, "a.go",
			"package a\n\nvar a = `" + strings.Repeat("x", 200) + "\n" + strings.Repeat("y", 200) + "`\n"},
		{"behind a raw string", house.LineLength, "a.go",
			"package a\n\nvar a = `" + strings.Repeat("x", 108) + "` + `" +
				strings.Repeat("y", 7) + "`" + tooLong + "\n"},
		{"a string that can be broken", house.LineLength, "a.go",
			"package a\n\nvar a = \"" + strings.Repeat("x", 200) + "\"" + tooLong + "\n"},
		{"what an example prints", house.LineLength, "a_test.go",
			"package a\n\nfunc ExampleA() {\n\t// Output:\n\t// " + strings.Repeat("x", 200) + "\n}\n"},
		{"what is no example", house.LineLength, "a.go",
			"package a\n\nfunc a() {\n\t// Output:\n\t// " + strings.Repeat("x", 200) + tooLong + "\n}\n"},
	}
}

// tooLong is wanted of a line that goes on, by what it says itself, behind column 120.
const tooLong = " // want `columns, more than 120`"

// line is a file with a line of so many columns, what is wanted of it included.
func line(columns int, want string) string {
	const begin = "var a = 1 //"
	return "package a\n\n" + begin + strings.Repeat("x", columns-len(begin)-len(want)) + want + "\n"
}

func file(lines int, want string) string {
	return fmt.Sprintf("package a%s\n%s", want, strings.Repeat("//\n", lines-1))
}

func function(lines int, want string) string {
	return fmt.Sprintf("package a\n\nfunc long() {%s\n%s}\n", want, strings.Repeat("\t_ = 0\n", lines-2))
}
