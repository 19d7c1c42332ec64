package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua/parse"
)

// root is the repository, as this package's tests see it.
const root = "../.."

func TestEveryMutantFitsTheTreeOfToday(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, len(all()), 25)
	for _, m := range append(all(), impatience) {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join(root, m.File))
			require.NoError(t, err)
			changed, err := m.apply(string(text))
			require.NoError(t, err)
			assert.NotEqual(t, string(text), changed)
			assert.LessOrEqual(t, changedLines(string(text), changed), 1, "a mutant is a change of one line")
			if filepath.Ext(m.File) == ".go" {
				_, err = parser.ParseFile(token.NewFileSet(), m.File, changed, parser.SkipObjectResolution)
			} else {
				_, err = lua.Parse(strings.NewReader(changed), m.File)
			}
			assert.NoError(t, err, "a file that cannot be read breaks everything, and proves nothing")
		})
	}
}

// changedLines is how many lines of the first text are not in the second at the same distance from its ends.
func changedLines(before, after string) int {
	a, b := strings.Split(before, "\n"), strings.Split(after, "\n")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return max(len(a), len(b))
}

func TestChangedLines(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after string
		want          int
	}{
		"none":    {"a\nb", "a\nb", 0},
		"one":     {"a\nb\nc", "a\nx\nc", 1},
		"emptied": {"a\nb\nc", "a\n\nc", 1},
		"removed": {"a\nb\nc", "a\nc", 1},
		"two":     {"a\nb\nc", "a\nx\ny", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, changedLines(tt.before, tt.after))
		})
	}
}

func TestEveryMutantIsToldApart(t *testing.T) {
	t.Parallel()
	names, changes := map[string]bool{}, map[string]string{}
	for _, m := range all() {
		assert.Regexp(t, `^[a-z]+(-[a-z]+)+$`, m.Name)
		assert.False(t, names[m.Name], "%s is there twice", m.Name)
		names[m.Name] = true
		change := m.File + "\n" + m.Before + "\n" + m.After
		assert.Empty(t, changes[change], "%s is the same change as %s", m.Name, changes[change])
		changes[change] = m.Name
		assert.NotEmpty(t, m.Breaks, m.Name)
	}
}

// TestTheTestsOfEveryMutantExist: a name that matches no test function would see nothing.
func TestTheTestsOfEveryMutantExist(t *testing.T) {
	t.Parallel()
	for _, union := range together(all()) {
		files, err := filepath.Glob(filepath.Join(root, union.Package, "*_test.go"))
		require.NoError(t, err)
		var sources strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			sources.Write(text)
		}
		for _, name := range union.Names {
			assert.True(t, strings.Contains(sources.String(), "\nfunc "+name+"(t *testing.T)"), "%s has no test %s",
				union.Package, name)
		}
	}
}

func TestAMutantWhoseLineIsGoneOrDoubledIsRefused(t *testing.T) {
	t.Parallel()
	m := mutant{Name: "some", File: "f.lua", Before: "x = 1", After: "x = 2"}
	for text, places := range map[string]string{"y = 1": "0 places", "x = 1 x = 1": "2 places"} {
		_, err := m.apply(text)
		require.ErrorContains(t, err, "mutant some: f.lua has "+places)
	}
	changed, err := m.apply("a x = 1 b")
	require.NoError(t, err)
	assert.Equal(t, "a x = 2 b", changed)
}

func TestPlantChangesTheFileAndTakesItOutAgain(t *testing.T) {
	t.Parallel()
	tree := t.TempDir()
	path := filepath.Join(tree, "f.lua")
	require.NoError(t, os.WriteFile(path, []byte("a x = 1 b"), 0o600))
	revert, err := mutant{Name: "some", File: "f.lua", Before: "x = 1", After: "x = 2"}.plant(tree)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "a x = 2 b", string(text))
	require.NoError(t, revert())
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "a x = 1 b", string(text))
}
