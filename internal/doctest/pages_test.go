package doctest_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatPagesNameIsThere: tests, examples and fuzz targets that any page names are declared.
func TestWhatPagesNameIsThere(t *testing.T) {
	t.Parallel()
	declared, named := declaredTests(t), 0
	for _, file := range pagesOfTheBook(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range testNamed.FindAllStringSubmatch(string(text), -1) {
			named++
			assert.True(t, declared[found[1]], "%s: there is no %s", file, found[1])
		}
	}
	assert.Greater(t, named, 300)
}

// pagesOfTheBook are all Markdown files of docs/, and those at the top.
func pagesOfTheBook(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		files = append(files, found...)
	}
	return files
}

// TestFragmentsOfPagesAreGo: what pages show of Go, where it is no whole program, can be parsed: declarations or
// statements, or some of each with a blank line between. "..." stands for what is left out.
func TestFragmentsOfPagesAreGo(t *testing.T) {
	t.Parallel()
	line, inside, fragments := regexp.MustCompile(`(?m)^[ \t]*\.\.\.`), regexp.MustCompile(`\.\.\.([})])`), 0
	for _, file := range pagesOfTheBook(t) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range block.FindAllStringSubmatch(string(text), -1) {
			if found[1] != "go" || strings.HasPrefix(found[2], "package ") {
				continue
			}
			fragments++
			source := inside.ReplaceAllString(line.ReplaceAllString(found[2], "//"), "$1")
			whole := parsed(source)
			for part := range strings.SplitSeq(source, "\n\n") {
				if whole != nil && parsed(part) != nil {
					assert.Fail(t, "not Go", "%s: %v\n%s", file, whole, found[2])
					break
				}
			}
		}
	}
	assert.Greater(t, fragments, 40)
}

// parsed is nil where a text is declarations or statements of Go.
func parsed(source string) error {
	_, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+source, 0)
	if err == nil {
		return nil
	}
	_, err = parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+source+"\n}\n", 0)
	return err
}
