package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect/doctor"
)

// ill is a Redis with a lost job, a ghost, an outcome for ever, and what nobody serves.
func ill(t *testing.T) string {
	t.Helper()
	dsn := clitest.Redis(t)
	for _, id := range []string{"one", "two", "three"} {
		require.Zero(t, call("enqueue", "--force", "--redis", dsn, "greet", "--id", id).status)
	}
	clitest.Command(t, dsn, "LREM", "{work}:queue:greet", "0", "two")
	clitest.Command(t, dsn, "HDEL", "{work}:jobs", "three")
	clitest.Command(t, dsn, "HSET", "{work}:outcomes", "old", "{}")
	return dsn
}

func TestDoctorPrintsWhatIsWrongAndMendsIt(t *testing.T) {
	t.Parallel()
	dsn := ill(t)
	for _, row := range []struct {
		name   string
		args   []string
		status int
	}{
		{"doctor-look", nil, exit.Failure},
		{"doctor-repair", []string{"--repair", "--yes"}, exit.OK},
		{"doctor-after", nil, exit.OK},
	} {
		got := call(append([]string{"doctor", "--redis", dsn}, row.args...)...)
		assert.Equal(t, row.status, got.status, "%s: %s", row.name, got.err)
		clitest.Golden(t, row.name, got.out)
		assert.Equal(t, map[bool]string{true: "work: the namespace has errors\n"}[row.status == exit.Failure], got.err)
	}
	assert.Equal(t, "two", runOne(t, dsn, "greet").ID, "what was lost is in front")
}

func TestDoctorInJSON(t *testing.T) {
	t.Parallel()
	got := call("doctor", "--redis", ill(t), "--json")
	assert.Equal(t, exit.Failure, got.status)
	var said reported
	require.NoError(t, json.Unmarshal([]byte(got.out), &said))
	assert.False(t, said.Healthy)
	found := map[doctor.Check]string{}
	for _, f := range said.Findings {
		found[f.Check] = f.ID
	}
	assert.Equal(t, map[doctor.Check]string{
		doctor.CheckLostJob: "two", doctor.CheckGhost: "three", doctor.CheckOutcome: "old", doctor.CheckUnserved: "",
	}, found)
}

func TestDoctorOfNothing(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	assert.Equal(t, said{out: "healthy: 0 errors, 0 warnings (0 jobs, 0 queues with jobs, 0 workers)\n"},
		call("doctor", "--redis", dsn))
	assert.Equal(t, said{}, call("doctor", "--redis", dsn, "--quiet"))
}

func TestDoctorAsksBeforeItMends(t *testing.T) {
	t.Parallel()
	const question = "work doctor: mend what is wrong in namespace work? It is best to look first, without --repair. " +
		"[yes/no] "
	for _, row := range []struct {
		name, answer string
		status       int
		err          string
	}{
		{"yes", "yes\n", exit.OK, question},
		{"no", "no\n", exit.Usage, question + "work: the answer was \"no\", so nothing was changed\n"},
		{"nobody there", "", exit.Usage, question +
			"\nwork: nothing was answered, and nothing was changed: give --yes where nobody can be asked\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dsn := ill(t)
			var out, errOut bytes.Buffer
			status := execute([]string{"doctor", "--redis", dsn, "--repair"}, strings.NewReader(row.answer), &out,
				&errOut)
			assert.Equal(t, row.status, status)
			assert.Equal(t, row.err, errOut.String())
			healthy := call("doctor", "--redis", dsn).status == exit.OK
			assert.Equal(t, row.status == exit.OK, healthy)
		})
	}
}

func TestDoctorMistakes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"no Redis", nil, "no Redis is named"},
		{"yes without repair", []string{"--redis", "redis://localhost", "--yes"}, "--yes is given without --repair"},
		{"an argument", []string{"all"}, "takes no argument"},
		{"a wrong DSN", []string{"--redis", "nonsense"}, "nonsense"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := call(append([]string{"doctor"}, row.args...)...)
			assert.Equal(t, exit.Usage, got.status)
			assert.Contains(t, got.err, row.want)
			assert.Empty(t, got.out)
		})
	}
}

func TestDoctorWithoutRedis(t *testing.T) {
	t.Parallel()
	got := call("doctor", "--redis", "redis://127.0.0.1:1")
	assert.Equal(t, exit.Failure, got.status)
	assert.Empty(t, got.out)
	assert.Contains(t, got.err, "cannot connect to Redis at 127.0.0.1:1")
}

// Many findings are cut, long lines folded, and what Redis holds cannot write to the terminal.
func TestFindingsOnATerminal(t *testing.T) {
	t.Parallel()
	d := &doctor.Diagnosis{Jobs: 25, Queues: 1, More: map[doctor.Check]int{doctor.CheckLostJob: 4000}}
	for i := range 25 {
		d.Findings = append(d.Findings, doctor.Finding{Check: doctor.CheckLostJob, Severity: doctor.SeverityError,
			ID:    fmt.Sprint("job", i),
			Queue: "greet", Key: "{work}:jobs", Detail: "it is in no queue, on no shelf and with no worker",
			Remedy: "a repair gives it back"})
	}
	d.Findings = append(d.Findings, doctor.Finding{Check: doctor.CheckUnknownKey, Severity: doctor.SeverityInfo,
		Key: "{work}:\x1b[2J", Detail: "not known"})
	c := &console.Console{Width: 60, Coloured: true}
	lines := append(findingLines(c, d), conclusion(c, d, false)...)
	clitest.Golden(t, "doctor-terminal", strings.ReplaceAll(strings.Join(lines, "\n")+"\n", "\x1b", "ESC"))
	escapes := regexp.MustCompile("\x1b\\[[0-9]*m")
	for _, line := range lines {
		assert.LessOrEqual(t, len(escapes.ReplaceAllString(line, "")), 60, line)
		assert.NotContains(t, line, "\x1b[2J")
	}
}
