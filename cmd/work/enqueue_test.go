package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/embedded"
)

// runOne runs a pool for one job name until a job has come, and returns it as its handler saw it.
func runOne(t *testing.T, dsn, name string) work.Job {
	t.Helper()
	seen := make(chan work.Job, 1)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: dsn, Logger: slog.New(slog.DiscardHandler)}).
		Job(name, func(job *work.Job, _ ...json.RawMessage) error {
			seen <- *job
			return nil
		})
	require.NoError(t, pool.Start(t.Context()))
	defer func() { assert.NoError(t, pool.Stop(context.Background())) }()
	select {
	case job := <-seen:
		return job
	case <-time.After(time.Minute):
		require.Fail(t, "the job did not run")
		return work.Job{}
	}
}

func TestEnqueuedArgumentsReachTheHandler(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"none", nil, `[]`},
		{"values of every kind", []string{`"text"`, "null", "true", `{"a":[1,2]}`, "[]"},
			`["text",null,true,{"a":[1,2]},[]]`},
		{"large numbers stay exact", []string{"12345678901234567890", "1e400", "0.1000"},
			`[12345678901234567890,1e400,0.1000]`},
		{"negative ones after --", []string{"--", "-5"}, `[-5]`},
		{"strings", []string{"--string", "Ann", "5", ""}, `["Ann","5",""]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dsn := clitest.Redis(t)
			got := call(append([]string{"enqueue", "--force", "--redis", dsn, "greet"}, row.args...)...)
			require.Equal(t, said{out: got.out}, got)
			job := runOne(t, dsn, "greet")
			assert.Equal(t, row.want, string(job.Args))
			assert.Equal(t, job.ID+"\n", got.out)
		})
	}
}

func TestEnqueueFlagsReachTheHandler(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	got := call("enqueue", "--force", "--redis", dsn, "greet", "--id", "one", "--retries", "3",
		"--source", "77", "--front",
		"--meta", "trace=a=b", "--meta", "user=", "--timeout", "1m", "--key", "customer-7", "--weight", "3", "--json")
	require.Zero(t, got.status, got.err)
	var printed receipt
	require.NoError(t, json.Unmarshal([]byte(got.out), &printed))
	assert.Equal(t, "one", printed.ID)
	assert.Equal(t, "greet", printed.Name)
	assert.False(t, printed.Duplicate)
	job := runOne(t, dsn, "greet")
	assert.Equal(t, "one", job.ID)
	assert.Equal(t, 3, job.RetriesLeft)
	assert.Equal(t, int64(77), job.SourceID)
	assert.Equal(t, map[string]string{"trace": "a=b", "user": ""}, job.Meta)
	assert.Equal(t, "customer-7", job.Key)
}

func TestTheKeyOfAJobIsShown(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	require.Zero(t, call("enqueue", "--force", "--redis", dsn, "sync", "--id", "one", "--key", "customer-7",
		"--weight", "3").status)
	assert.Contains(t, call("jobs", "show", "--redis", dsn, "one").out, `"key":"customer-7","weight":3`)
	require.Zero(t, call("schedules", "add", "@yearly", "sync", "--redis", dsn, "--id", "yearly", "--key", "customer-8",
		"--weight", "2", "--quiet").status)
	assert.Contains(t, call("schedules", "--redis", dsn, "--json").out, `"key":"customer-8","weight":2`)
	id := strings.TrimSpace(call("schedules", "run", "--redis", dsn, "yearly").out)
	assert.Contains(t, call("jobs", "show", "--redis", dsn, id).out, `"key":"customer-8","weight":2`)
	for want, weight := range map[string]string{
		"--weight is 0: give 1 to 100\n":                                                   "0",
		"PeriodicOptions.Weight is 101: use 1 to 100, or 0 for 1\n":                        "101",
		"PeriodicOptions.Weight is given without Key: give the key whose weight that is\n": "3",
	} {
		args := []string{"schedules", "add", "@yearly", "sync", "--redis", dsn, "--weight", weight}
		if weight != "3" {
			args = append(args, "--key", "customer-8")
		}
		got := call(args...)
		assert.Equal(t, exit.Usage, got.status)
		assert.Contains(t, got.err, want)
	}
}

// Without it a wait that begins after the end of a fast job finds nothing.
func TestEnqueueRetentionKeepsTheResultForALaterWait(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	require.Equal(t, said{out: "kept\n"},
		call("enqueue", "--force", "--redis", dsn, "greet", "--id", "kept", "--retention", "1h"))
	require.Equal(t, said{out: "gone\n"}, call("enqueue", "--force", "--redis", dsn, "greet", "--id", "gone"))
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: dsn, Logger: slog.New(slog.DiscardHandler)}).
		Job("greet", func() (int, error) { return 42, nil })
	require.NoError(t, pool.Start(t.Context()))
	require.NoError(t, pool.Drain(t.Context()))
	require.NoError(t, pool.Stop(t.Context()))
	assert.Zero(t, call("jobs", "wait", "--redis", dsn, "kept").status)
	assert.Contains(t, call("jobs", "wait", "--redis", dsn, "kept", "--json").out, `"result":42`)
	assert.Equal(t, 3, call("jobs", "wait", "--redis", dsn, "gone").status)
}

func TestEnqueueTwiceUnderOneID(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	require.Equal(t, said{out: "one\n"}, call("enqueue", "--force", "--redis", dsn, "greet", "--id", "one"))
	assert.Equal(t, said{out: "one\n", err: "work: a job with the id one was there already, nothing was stored\n"},
		call("enqueue", "--force", "--redis", dsn, "greet", "--id", "one"))
	assert.Equal(t, said{out: "one\n"}, call("enqueue", "--force", "--redis", dsn, "greet", "--id", "one", "--quiet"))
	got := call("enqueue", "--force", "--redis", dsn, "greet", "--id", "one", "--json")
	assert.Contains(t, got.out, `"duplicate":true`)
}

func TestEnqueueAtKeepsTheTime(t *testing.T) {
	t.Parallel()
	got := call("enqueue", "--force", "--redis", clitest.Redis(t), "greet",
		"--at", "2099-01-31T10:00:00+01:00", "--json")
	require.Zero(t, got.status, got.err)
	var printed receipt
	require.NoError(t, json.Unmarshal([]byte(got.out), &printed))
	assert.Equal(t, time.Date(2099, 1, 31, 9, 0, 0, 0, time.UTC), printed.RunAt.UTC())
}

func TestEnqueueInRunsLater(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	before := time.Now()
	require.Equal(t, said{out: "later\n"},
		call("enqueue", "--force", "--redis", dsn, "greet", "--id", "later", "--in", "150ms"))
	assert.Equal(t, "later", runOne(t, dsn, "greet").ID)
	assert.GreaterOrEqual(t, time.Since(before), 149*time.Millisecond)
}

func TestEnqueuePassesOnWhatTheLibraryRefuses(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	long, start := strings.Repeat("a", 201), strings.Repeat("a", 60)
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"no name", []string{"--string", ""}, "the job is not stored: job name is empty: use 1 to 200 bytes of UTF-8"},
		{"a long name", []string{long},
			`job "` + start + `"... is not stored: job name is "` + start +
				`"..., which has 201 bytes: use at most 200`},
		{"a name with a control character", []string{"a\nb"},
			`job "a\nb" is not stored: job name is "a\nb": use one without control characters`},
		{"front and later", []string{"greet", "--front", "--in", "1s"},
			`job "greet" is not stored: job "greet" is due later but has the option Front: leave Front out: a job goes to the back of its queue when it falls due`},
		{"too many retries", []string{"greet", "--retries", "100001"},
			`job "greet" is not stored: job "greet": option Retries is 100001: use at most 100000`},
		{"no timeout", []string{"greet", "--timeout", "0s"},
			`job "greet" is not stored: job "greet": option Timeout is 0s: use a duration above zero, or leave the option out`},
		{"a long key", []string{"greet", "--key", long}, `job "greet" is not stored: job "greet": option Key is ` +
			`201 bytes long: use at most 200, such as a hash of it`},
		{"no weight", []string{"greet", "--key", "a", "--weight", "0"},
			`job "greet" is not stored: job "greet": option Weight is 0: use 1 to 100`},
		{"too large a weight", []string{"greet", "--key", "a", "--weight", "101"},
			`job "greet" is not stored: job "greet": option Weight is 101: use 1 to 100`},
		{"a weight without a key", []string{"greet", "--weight", "2"},
			`job "greet" is not stored: job "greet" is given Weight without Key: give it the key whose weight that is`},
		{"before 1970", []string{"greet", "--at", "1969-01-01T00:00:00Z"},
			`job "greet" is not stored: time of job "greet" is 1969-01-01T00:00:00Z: use one after 1970 and at most 100 years ahead`},
		{"a namespace with a brace", []string{"greet", "--namespace", "a{b"},
			`namespace is "a{b": use one without { and }`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := call(append([]string{"enqueue", "--force", "--redis", dsn}, row.args...)...)
			assert.Equal(t, said{status: exit.Usage, err: "work: " + row.want + "\n"}, got)
		})
	}
}

func TestEnqueueRefuses(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"no name", nil, "the name of the job is missing: work enqueue NAME ARG"},
		{"text without quotes", []string{"greet", "Ann"},
			`argument 1 is not JSON: wrap strings in quotes, as '"ann"', or give --string`},
		{"the second argument", []string{"greet", "1", `{"a":`},
			`argument 2 is not JSON: wrap strings in quotes, as '"ann"', or give --string`},
		{"two values in one", []string{"greet", "1 2"},
			`argument 1 is not JSON: wrap strings in quotes, as '"ann"', or give --string`},
		{"not UTF-8", []string{"greet", "\"\xff\""},
			`argument 1 is not UTF-8, which JSON cannot hold: encode it, for example as base64`},
		{"not UTF-8 as a string", []string{"--string", "greet", "\xff"},
			`argument 1 is not UTF-8, which JSON cannot hold: encode it, for example as base64`},
		{"a flag after --", []string{"greet", "--", "--front"},
			`argument 1 begins with - and is not JSON: flags come before --`},
		{"a negative number", []string{"greet", "-5"},
			"unknown shorthand flag: '5' in -5: put -- before arguments that begin with a minus"},
		{"in and at", []string{"greet", "--in", "1s", "--at", "2030-01-31T09:00:00Z"},
			"--in 1s and --at 2030-01-31T09:00:00Z exclude each other: give one"},
		{"into the past", []string{"greet", "--in", "-1s"}, "--in is -1s: give a positive duration, as 90s"},
		{"a time that is none", []string{"greet", "--at", "tomorrow"},
			`--at is "tomorrow": give a time as 2030-01-31T09:00:00Z or 2030-01-31T10:00:00+01:00`},
		{"the zero time", []string{"greet", "--at", "0001-01-01T00:00:00Z"},
			"--at is 0001-01-01T00:00:00Z: give a time after 1970"},
		{"the zero time elsewhere", []string{"greet", "--at", "0001-01-01T01:00:00+01:00"},
			"--at is 0001-01-01T01:00:00+01:00: give a time after 1970"},
		{"no time to wait", []string{"greet", "--within", "0"}, "--within is 0s: give a duration above zero, as 10s"},
		{"a source in another form", []string{"greet", "--source", "1e3"},
			`--source is "1e3": give a whole number, as 42, of at most 64 bits`},
		{"a source that is too large", []string{"greet", "--source", "9223372036854775808"},
			`--source is "9223372036854775808": give a whole number, as 42, of at most 64 bits`},
		{"retries that are no number", []string{"greet", "--retries", "two"},
			`--retries is "two": give a whole number, as 42, of at most 64 bits`},
		{"a duration without a unit", []string{"greet", "--in", "5"}, `--in is "5": give a duration, as 90s or 2h`},
		{"neither true nor false", []string{"greet", "--front=maybe"}, `--front is "maybe": give true or false`},
		{"meta without a value", []string{"greet", "--meta", "user"}, `--meta is "user": give key=value`},
		{"a Redis that ends with the program", []string{"greet", "--redis", "memory://x"},
			"memory://x ends with this program, and the job with it: name a Redis that stays"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got := call(append([]string{"enqueue", "--force", "--redis", dsn}, row.args...)...)
			assert.Equal(t, said{status: exit.Usage, err: "work: " + row.want + "\n"}, got)
		})
	}
}

func TestEnqueueWithoutARedisFailsInTime(t *testing.T) {
	t.Parallel()
	server, err := embedded.Start()
	require.NoError(t, err)
	server.Close()
	began := time.Now()
	got := call("enqueue", "--force", "--redis", server.DSN(), "--within", "300ms", "greet")
	assert.Equal(t, exit.Failure, got.status)
	assert.Contains(t, got.err, `work: job "greet" is not stored: no answer within 300ms (--within): `)
	assert.Less(t, time.Since(began), 10*time.Second)
}
