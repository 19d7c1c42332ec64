package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
)

// gocraftJob enqueues a job of gocraft/work in the namespace app.
func gocraftJob(t *testing.T, dsn, name, id string) {
	t.Helper()
	clitest.Command(t, dsn, "SADD", "app:known_jobs", name)
	record, err := json.Marshal(map[string]any{"name": name, "id": id, "t": 1700000000,
		"args": map[string]string{"to": "ann"}})
	require.NoError(t, err)
	clitest.Command(t, dsn, "LPUSH", "app:jobs:"+name, string(record))
}

func TestJobsComeOverByTheCommand(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	migrate := func(args ...string) said {
		return call(append([]string{"migrate", "gocraft", "--from", dsn, "--from-namespace", "app", "--to", dsn,
			"--namespace", "shop", "--within", "0s"}, args...)...)
	}
	for _, id := range []string{"1", "2"} {
		gocraftJob(t, dsn, "mail", id)
	}
	clitest.Command(t, dsn, "SET", "app:last_periodic_enqueue", "1700000000")
	got := migrate("--dry-run")
	assert.Equal(t, said{out: "2 jobs of gocraft/work would come over (2 queued)\n", err: "work migrate gocraft: " +
		"periodic jobs are declared in code: declare them, pool.Periodic(spec, name)\nwork migrate gocraft: " +
		"no worker of this namespace serves \"mail\" now: they wait until one does\n"}, got)
	assert.Contains(t, call("jobs", "show", "gocraft-1", "--redis", dsn, "--namespace", "shop").err, "gocraft-1")

	gocraftJob(t, dsn, "\x01", "3") // no name
	got = migrate()
	assert.Equal(t, exit.Undone, got.status)
	assert.Equal(t, "2 jobs of gocraft/work came over (2 queued)\n", got.out)
	assert.Contains(t, got.err, "1 job: cannot come over and stay where they are\n  3 in app:jobs:")
	assert.Contains(t, got.err, "1 job is left on the old side")
	assert.Contains(t, call("jobs", "show", "gocraft-1", "--redis", dsn, "--namespace", "shop").out, `[{"to":"ann"}]`)

	got = migrate("--json")
	assert.Equal(t, exit.Undone, got.status)
	var report struct {
		Total, Refused int
		Left           map[string]int
		RefusedJobs    []struct{ ID, Reason string } `json:"refused_jobs"`
		Complete       bool
	}
	require.NoError(t, json.Unmarshal([]byte(got.out), &report), got.out)
	assert.Zero(t, report.Total)
	assert.Equal(t, 1, report.Refused)
	assert.Equal(t, map[string]int{"queued": 1}, report.Left)
	require.Len(t, report.RefusedJobs, 1)
	assert.Contains(t, report.RefusedJobs[0].Reason, "job name")

	clitest.Command(t, dsn, "DEL", "app:jobs:\x01")
	got = migrate()
	assert.Zero(t, got.status, got.err)
	assert.Equal(t, "0 jobs of gocraft/work came over\n", got.out)
}

func TestWhatComingOverCannotBeToldIsRefused(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	for says, args := range map[string][]string{
		"the old side is missing":        {},
		"is in the memory":               {"--from", "memory://"},
		"--from: ":                       {"--from", "http://x"},
		"--dry-run and --follow exclude": {"--from", dsn, "--dry-run", "--follow"},
		"--idle is for --follow":         {"--from", dsn, "--idle", "1s"},
		"--within is not for --follow":   {"--from", dsn, "--follow", "--within", "1s"},
		`--max-fails is "-1"`:            {"--from", dsn, "--max-fails", "-1"},
		`--max-fails is "mail=x"`:        {"--from", dsn, "--max-fails", "4", "--max-fails", "mail=x"},
	} {
		got := call(append([]string{"migrate", "gocraft", "--to", dsn}, args...)...)
		assert.Equal(t, exit.Usage, got.status, says)
		assert.Contains(t, got.err, says)
	}
}
