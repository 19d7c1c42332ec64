package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheTableStandsBetweenTheMarkers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "page.md")
	old := "| `fetch-order` | `lua/job/fetch.lua` | as it was | `TestOld` | 9 |\n| `of-another-time` | `x.go` | gone | " +
		"`TestX` | 1 |\n"
	require.NoError(t, os.WriteFile(path, []byte("# A\n\n"+beginMarker+"\nold\n"+columns+old+endMarker+"\n\nend\n"),
		0o600))
	results := []result{
		{mutant{Name: "complete-any", File: "lua/x.lua", Breaks: "so does this"}, nil, time.Second},
		{mutant{Name: "enqueue-again", File: "lua/y.lua", Breaks: "it holds"}, []string{"TestX", "TestY"},
			2400 * time.Millisecond},
	}
	for range 2 {
		require.NoError(t, writeTable(path, results))
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, "# A\n\n"+beginMarker+"\n\n"+
			"3 changes, of which 2 were seen. The last column is how many seconds it took to build and run the "+
			"tests.\n\n"+columns+
			"| `enqueue-again` | `lua/y.lua` | it holds | `TestX`, `TestY` | 2 |\n"+
			"| `fetch-order` | `lua/job/fetch.lua` | as it was | `TestOld` | 9 |\n"+
			"| `complete-any` | `lua/x.lua` | so does this | **nothing** | 1 |\n\n"+endMarker+"\n\nend\n", string(page))
	}
	require.ErrorContains(t, survivors(results), "no test saw complete-any")
	require.NoError(t, survivors(results[1:]))
}

func TestAPageWithoutMarkersIsRefused(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"", beginMarker, endMarker, endMarker + beginMarker} {
		_, _, _, err := parts(page)
		require.ErrorContains(t, err, "it needs a line")
	}
}

// TestThePageHasARowForEachMutant: the table is of the list of today.
func TestThePageHasARowForEachMutant(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "docs", "mutants.md"))
	require.NoError(t, err)
	_, between, _, err := parts(string(page))
	require.NoError(t, err)
	rows := rowsOf(between)
	for _, m := range all() {
		assert.True(t, strings.HasPrefix(rows[m.Name], "| `"+m.Name+"` | `"+m.File+"` | "+m.Breaks+" | "),
			"the row of %s is not that of the list: run the command with -only '^%s$' -write docs/mutants.md", m.Name,
			m.Name)
	}
	assert.Len(t, rows, len(all()))
	assert.NotContains(t, between, unseen)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for _, wrong := range [][]string{{"-only", "("}, {"complete-any"}} {
		_, err := parse(wrong)
		assert.Error(t, err, wrong)
	}
	few, err := parse([]string{"-quick"})
	require.NoError(t, err)
	quick := few.choose(all())
	assert.GreaterOrEqual(t, len(quick), 5)
	assert.Less(t, len(quick), 12)
	some, err := parse([]string{"-only", "^complete-"})
	require.NoError(t, err)
	assert.Len(t, some.choose(all()), 8)
	whole, err := parse(nil)
	require.NoError(t, err)
	assert.Len(t, whole.choose(all()), len(all()))
}
