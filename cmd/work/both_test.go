package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/internal/redistest"
)

// What the commands ask of Redis works on both kinds of it. How it is printed is compared elsewhere, where the clock
// stands.
func TestCommandsOnBothKindsOfRedis(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		namespace := redistest.Namespace(t)
		run := func(args ...string) said {
			t.Helper()
			got := call(append(args, "--redis", server.DSN(), "--namespace", namespace)...)
			require.Equal(t, exit.OK, got.status, "%v: %s", args, got.err)
			return got
		}
		for _, id := range []string{"one", "two", "three", "four"} {
			run("enqueue", "--force", "greet", `"Ann"`, "--id", id, "--retention", "1h")
		}
		run("enqueue", "--force", "greet", "--id", "later", "--in", "1h")
		for _, step := range []struct{ line, want string }{
			{"jobs front four", "1 job moved to the front\n"},
			{"jobs list --state queued --name greet --ids", "four\none\ntwo\nthree\n"},
			{"jobs stall one two", "2 jobs stalled\n"},
			{"jobs resume --state stalled --limit 1", "1 of 1 selected job resumed, looked at 1 of 2\n"},
			{"jobs cancel --state stalled --yes", "1 of 1 selected job cancelled, looked at 1 of 1\n"},
			{"jobs list --state cancelled --name greet --ids", "two\n"},
			{"jobs search --state cancelled --args Ann --ids", "two\n"},
			{"jobs search --state cancelled --args Bob", ""},
			{"jobs reschedule later --in 2h", "1 job rescheduled\n"},
			{"jobs run --state scheduled --args [] --name greet",
				"1 of 1 selected job put into a queue, looked at 1 of 1\n"},
			{"jobs search --id thre --ids", "three\n"},
			{"jobs delete three --yes", "1 job deleted\n"},
			{"jobs list --ended --ids", "four\none\nlater\ntwo\nthree\n"},
			{"pause greet", "paused: greet\n"}, {"resume greet", "resumed: greet\n"},
			{"pause --all --wait", "paused: all queues\n"}, {"resume --all", "resumed: all queues\n"},
			{"limits set greet --concurrent 3", "greet: 3 at a time\n"}, {"limits reset greet", "greet: no limit\n"},
			{"schedules add @daily greet --id daily --quiet", ""}, {"schedules pause daily", "1 schedule paused\n"},
			{"schedules remove daily --yes", "1 schedule removed\n"},
			{"workers", ""}, {"workers ping", ""}, {"errors", ""},
			{"errors clear --yes", "the groups of errors of all names are forgotten\n"}, {"stats", ""},
			{"purge greet --dry-run", "3 jobs would be removed from the queue of greet\n"},
			{"purge greet --yes", "removed 3 of 3 jobs from the queue of greet\n"},
			{"jobs list", ""},
		} {
			assert.Equal(t, step.want, run(strings.Fields(step.line)...).out, step.line)
		}
		var queue struct{ Waiting, Running int }
		require.NoError(t, json.Unmarshal([]byte(run("queues", "greet", "--json").out), &queue))
		assert.Zero(t, queue.Waiting+queue.Running)
	})
}
