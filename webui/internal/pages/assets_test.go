package pages

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestScriptsStaySmall: all of them are less than 60 kB as they are sent, none is long, and what one imports has the
// tag with which it may be kept.
func TestScriptsStaySmall(t *testing.T) {
	t.Parallel()
	all := 0
	for name, file := range assets {
		if path.Ext(name) != ".js" {
			continue
		}
		all += len(file.content)
		assert.LessOrEqual(t, strings.Count(string(file.content), "\n"), 200, name)
		for line := range strings.Lines(string(file.content)) {
			assert.LessOrEqual(t, len(strings.TrimSpace(line)), 120, "%s: %s", name, line)
			if before, from, is := strings.Cut(line, ` from "`); is && strings.HasPrefix(before, "import ") {
				imported, tag, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(from), `";`), "?")
				assert.Contains(t, assets, strings.TrimPrefix(imported, "./"), name)
				assert.Equal(t, file.tag, tag, "%s: %s", name, line)
			}
		}
	}
	assert.Less(t, all, 60_000)
	assert.Positive(t, all)
}
