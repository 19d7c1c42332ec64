package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/bench/report"
	"github.com/265d0351/work/bench/scenario"
)

// ran runs the command and returns what it printed.
func ran(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := run(t.Context(), args, &stdout, &stderr)
	return stdout.String(), err
}

func TestWhatIsNotUnderstoodIsSaid(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`argument "work" is not understood`:        {"work"},
		"--rounds is -1":                           {"--rounds", "-1"},
		`--lib names "sidekiq"`:                    {"--lib", "work,sidekiq"},
		"use some of redigo, go-redis, rueidis":    {"--drivers", "--lib", "work"},
		`--only is "nothing like this"`:            {"--only", "nothing like this"},
		"missing closing )":                        {"--only", "("},
		"flag provided but not defined: -undefind": {"--undefind"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := ran(t, args...)
			require.ErrorContains(t, err, want)
		})
	}
}

func TestListNamesEveryScenarioOnce(t *testing.T) {
	t.Parallel()
	out, err := ran(t, "--list")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, s := range scenario.All() {
		assert.Contains(t, out, s.Name+"\n")
		assert.False(t, seen[s.Name], s.Name)
		seen[s.Name] = true
	}
}

func TestConfigTellsHowEachPeerAndServerIsSet(t *testing.T) {
	t.Parallel()
	out, err := ran(t, "--config")
	require.NoError(t, err)
	for _, want := range []string{"work, on Redis", "asynq", "FetchCooldown 2 ms", `"--appendonly" "no"`, "fsync=off"} {
		assert.Contains(t, out, want)
	}
}

func TestATinyRunPrintsJSONAndWritesThePage(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("redis-server"); err != nil && os.Getenv("WORK_REQUIRE_REDIS") == "" {
		t.Skip(err)
	}
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("<!-- bench:begin -->\n<!-- bench:end -->\n"), 0o600))
	out, err := ran(t, "--tiny", "--json", "--only", "^memory$", "--lib", "work,asynq", "--write", page, "--note",
		"A note.")
	require.NoError(t, err)
	var got report.Report
	require.NoError(t, json.Unmarshal([]byte(out), &got))
	require.Len(t, got.Rows, 1)
	assert.Len(t, got.Rows[0].Samples["work"], 1)
	assert.Len(t, got.Rows[0].Samples["asynq"], 1)
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	assert.Contains(t, string(written), "| memory")
	assert.Contains(t, string(written), "A note.\n")
	assert.Contains(t, string(written), "`go run . --tiny --json --only ^memory$ --lib work,asynq`",
		"without what changes no figure")
}
