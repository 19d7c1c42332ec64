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
	"TestAReleaseMovesAtMostWhatItNames|TestScheduledJobsCostNotMuchMoreThanPlainOnes"

// All tests of internal/rdb, with a client of go-redis behind each redis:// that they open, and 500 random runs of the
// model test besides. The servers of the cluster's client are each a cluster of one, which refuses what no cluster
// runs. The go command adds the file that does so to their package for this run.
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
	for as, row := range map[string]struct{ skip, cluster string }{
		"client": {"^$", "0"}, "cluster": {keysOfTheirOwn, "1"},
	} {
		for name, args := range map[string][]string{
			"all":   {"-count=1", "-skip", row.skip},
			"model": {"-count=20", "-run", "^TestModelOnARealRedis$"},
		} {
			t.Run(as+"/"+name, func(t *testing.T) {
				args := append([]string{"test", "-timeout", "30m", "-overlay", file}, args...)
				c := exec.CommandContext(t.Context(), "go", append(args, "./internal/rdb")...)
				c.Dir, c.Env = root, append(os.Environ(), "WORK_GOREDIS_AS="+as, "WORK_TEST_CLUSTER="+row.cluster)
				out, err := c.CombinedOutput()
				assert.NoError(t, err, "%s", out)
			})
		}
	}
}
