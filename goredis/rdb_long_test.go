package goredis

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// keysOfTheirOwn are tests of internal/rdb that put keys outside of the namespace into a call beside its own.
const keysOfTheirOwn = "TestEnqueueOfOneQueue|TestWhatIsOlderStandsBeforeWhatIsReleased|" +
	"TestAReleaseMovesAtMostWhatItNames"

// All tests of internal/rdb, the model test among them, with a client of go-redis behind each redis:// that they open.
// The go command adds the file that does so to their package for this run.
func TestRdbOnGoRedisLong(t *testing.T) {
	if os.Getenv("WORK_DRIVERS_LONG") == "" {
		t.Skip("takes minutes: set WORK_DRIVERS_LONG=1, or make drivers-long")
	}
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, "internal/rdb/zz_goredis_test.go"): filepath.Join(root, "goredis/testdata/rdb_driver.txt"),
	}})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	for as, skip := range map[string]string{"client": "^$", "cluster": keysOfTheirOwn} {
		t.Run(as, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout", "20m", "-overlay", file,
				"-skip", skip, "./internal/rdb")
			c.Dir, c.Env = root, append(os.Environ(), "WORK_GOREDIS_AS="+as)
			out, err := c.CombinedOutput()
			assert.NoError(t, err, "%s", out)
		})
	}
}
