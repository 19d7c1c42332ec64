package doctest_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	testDeclared = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)\w+)\(`)
	testNamed    = regexp.MustCompile("`((?:Test|Example|Fuzz)[A-Z]\\w+)`")
)

// TestEveryRowOfTheSeedsIsShown: each row of docs/seeds.md says where its row is, that it is true or why it is
// otherwise, and names tests that there are.
func TestEveryRowOfTheSeedsIsShown(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/seeds.md")
	require.NoError(t, err)
	declared := declaredTests(t)
	rows, tests := 0, 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| row ") || strings.Contains(line, "|---") {
			continue
		}
		rows++
		if !assert.Len(t, cells, 4, line) {
			continue
		}
		named := testNamed.FindAllStringSubmatch(line, -1)
		for _, name := range named {
			tests++
			assert.True(t, declared[name[1]], "there is no %s: %s", name[1], line)
		}
		verdict := strings.TrimSpace(cells[3])
		assert.NotEmpty(t, verdict, line)
		if len(named) == 0 {
			assert.Contains(t, verdict, "otherwise", "a row that no test shows says why: %s", line)
		}
	}
	assert.Greater(t, rows, 250)
	assert.Greater(t, tests, 250)
}

func declaredTests(t *testing.T) map[string]bool {
	t.Helper()
	declared := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, name := range testDeclared.FindAllSubmatch(source, -1) {
			declared[string(bytes.TrimSpace(name[1]))] = true
		}
		return err
	})
	require.NoError(t, err)
	return declared
}
