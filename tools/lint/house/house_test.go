// The analyzers look at one package after the other. Under the race detector reading those of the standard library
// takes half a minute.

//go:build !race

package house_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/265d0351/work/tools/lint/house"
)

// The packages below testdata/<analyzer> say in their comments what is to be found in them; whatever else is found, or
// is not, fails the test.
func TestFindings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		analyzer *analysis.Analyzer
		packages []string
	}{
		{house.Layers, []string{house.Root, house.Root + "/cmd/work", house.Root + "/internal/rdb"}},
		{house.NoPanic, []string{house.Root, house.Root + "/cmd/work"}},
		{house.Params, []string{"signatures"}},
		{house.TestSleep, []string{"sleeping"}},
		{house.ExportedDoc, []string{"documented"}},
		{house.Names, []string{"util", "counters"}},
	} {
		t.Run(c.analyzer.Name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(analysistest.TestData(), c.analyzer.Name)
			analysistest.Run(t, dir, c.analyzer, c.packages...)
		})
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		analyzer *analysis.Analyzer
		file     string
		source   string
	}{
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
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, clean, err := analysistest.WriteFiles(map[string]string{"a/" + c.file: c.source})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(clean)
			analysistest.Run(t, dir, c.analyzer, "a")
		})
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
