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

func file(lines int, want string) string {
	return fmt.Sprintf("package a%s\n%s", want, strings.Repeat("//\n", lines-1))
}

func function(lines int, want string) string {
	return fmt.Sprintf("package a\n\nfunc long() {%s\n%s}\n", want, strings.Repeat("\t_ = 0\n", lines-2))
}
