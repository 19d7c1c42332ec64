package doctest_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// TestEnqueueFromTheShell runs the last line of docs/contributing/redis-contract.md, twice, and the job that it
// enqueues.
func TestEnqueueFromTheShell(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("redis-cli"); err != nil && os.Getenv("WORK_REQUIRE_REDIS") != "1" {
			t.Skip("no redis-cli on PATH")
		}
		text, err := os.ReadFile("docs/contributing/redis-contract.md")
		require.NoError(t, err)
		line := regexp.MustCompile(`(?m)^redis-cli .*$`).FindString(string(text))
		require.NotEmpty(t, line)

		k := newKit(t, redistest.Real(t))
		greeted := make(chan string, 2)
		pool := k.Start(work.NewWorkerPool(nil, 1, k.Options()).Job("greet", func(whom string, times int) error {
			greeted <- strings.Repeat(whom, times)
			return nil
		}))
		host, port, err := net.SplitHostPort(k.Server.Addr())
		require.NoError(t, err)
		line = strings.ReplaceAll(line, "{work}", "{"+k.Namespace+"}")
		line = strings.Replace(line, "redis-cli ", "redis-cli -h "+host+" -p "+port+" ", 1)
		var answers []string
		for range 2 {
			out, err := exec.CommandContext(k.Ctx(), "bash", "-c", line).CombinedOutput()
			require.NoError(t, err, string(out))
			answers = append(answers, string(out))
		}
		assert.Regexp(t, `^\d{13}\n$`, answers[0])
		assert.Equal(t, answers[0], answers[1], "the second run stores nothing and says what the first one said")
		assert.Equal(t, strings.Repeat("world", 7), pooltest.Receive(t, greeted))
		require.NoError(t, pool.Drain(k.Ctx()))
		assert.Empty(t, greeted)
		k.Empty("greet")
	})
}

// TestTheContractSaysWhatAJobCosts compares the table of the page with the one that is counted.
func TestTheContractSaysWhatAJobCosts(t *testing.T) {
	t.Parallel()
	counted, err := os.ReadFile("internal/rdb/testdata/operations.golden")
	require.NoError(t, err)
	page, err := os.ReadFile("docs/contributing/redis-contract.md")
	require.NoError(t, err)
	table, _, _ := strings.Cut(string(counted), "\n\nbatch 1, queues 1\n")
	assert.Contains(t, string(page), "\n```\n"+strings.TrimSpace(table)+"\n```\n")
}

// TestTheContractNamesEveryScript compares the page with lua/.
func TestTheContractNamesEveryScript(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("docs/contributing/redis-contract.md")
	require.NoError(t, err)
	scripts, err := filepath.Glob("lua/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	below, err := filepath.Glob("lua/*/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, below)
	for _, script := range append(scripts, below...) {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(script), "lua/"), ".lua")
		if name != "prelude" {
			assert.Contains(t, string(page), "`"+name+"`")
		}
	}
}
