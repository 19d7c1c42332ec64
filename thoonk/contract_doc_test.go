package thoonk_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var keyOfAHeader = regexp.MustCompile(`KEYS\[[\d.]+\] ([a-z]\S*?)(?:,|\s|$)`)

// TestTheContractNamesEveryKey compares docs/contributing/redis-contract.md with what the headers of the scripts say
// that they touch.
func TestTheContractNamesEveryKey(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "docs", "contributing", "redis-contract.md"))
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "\n## Thoonk\n")
	section, _, _ = strings.Cut(section, "\n## ")
	scripts, err := filepath.Glob(filepath.Join("..", "lua", "[tr]*n[kg]", "*.lua"))
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile(script)
			require.NoError(t, err)
			keys := keyOfAHeader.FindAllStringSubmatch(string(source), -1)
			require.NotEmpty(t, keys)
			for _, key := range keys {
				named := strings.NewReplacer("<feed>", "<f>", "<name>", "<f>").Replace(key[1])
				assert.Contains(t, section, "`"+named+"`")
			}
		})
	}
}
