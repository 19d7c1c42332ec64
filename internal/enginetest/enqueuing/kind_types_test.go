package enqueuing_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// TestWrongArgsOfAKindDoNotCompile type-checks a program whose lines say which of them are refused. A looser API takes
// one that it should not, and a stricter one refuses what programs write.
func TestWrongArgsOfAKindDoNotCompile(t *testing.T) {
	t.Parallel()
	redistest.SkipInShortRace(t, "it asks the compiler")
	text, err := os.ReadFile("testdata/kinds.go.txt")
	require.NoError(t, err)
	found := typeErrors(t, text)
	refused := 0
	for i, line := range strings.Split(string(text), "\n") {
		_, want, isRefused := strings.Cut(line, "//! ")
		got := strings.Join(found[i+1], "; ")
		switch {
		case isRefused:
			refused++
			assert.Contains(t, got, want, "line %d: %s", i+1, line)
		case got != "":
			assert.Fail(t, "it should compile", "line %d: %s: %s", i+1, line, got)
		}
	}
	assert.Equal(t, 27, refused, "lines that are refused")
}

// typeErrors are what the compiler says of a program of one file, by line.
func typeErrors(t *testing.T, program []byte) map[int][]string {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "program.go", program, parser.SkipObjectResolution)
	require.NoError(t, err)
	found := map[int][]string{}
	exports := exportData(t)
	config := types.Config{
		Importer: importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) {
			return os.Open(exports[path])
		}),
		Error: func(err error) {
			var said types.Error
			if assert.ErrorAs(t, err, &said) {
				line := files.Position(said.Pos).Line
				found[line] = append(found[line], said.Msg)
			}
		},
	}
	_, _ = config.Check("program", files, []*ast.File{parsed}, nil) // Error is told of each
	return found
}

// exportData are the files with the types of this package, and of those that it uses, as the compiler has them.
func exportData(t *testing.T) map[string]string {
	t.Helper()
	listed, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}",
		"github.com/265d0351/work").Output()
	require.NoError(t, err)
	exports := map[string]string{}
	for line := range strings.Lines(string(listed)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return exports
}
