package rdb_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

var update = flag.Bool("update", false, "write testdata/operations.golden anew")

// tally counts commands that a server executes, those inside scripts included.
type tally struct {
	sync.Mutex
	commands map[string]int
}

func (c *tally) see(command string, _ []string) {
	c.Lock()
	defer c.Unlock()
	c.commands[command]++
}

// take returns what was counted since it was called last.
func (c *tally) take() map[string]int {
	c.Lock()
	defer c.Unlock()
	counted := c.commands
	c.commands = map[string]int{}
	return counted
}

// What Redis does per job is the budget of the whole framework, so that a command more is seen here. The counts are the
// same in every run; -update writes them anew.
func TestOperationsPerJob(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("Redis operations per job: commands inside the scripts, the EVALSHA itself included.\n" +
		"A batch is fetched with one script and ended with one. With several queues all are named and their shares " +
		"are equal.\n\nbatch  queues  fetch  complete    sum\n")
	var detail strings.Builder
	batches := map[int][]int{1: {1, 20, 200, 500}, 10: {1, 20, 200}} // 500 are taken together
	for _, queues := range []int{1, 10} {
		for _, batch := range batches[queues] {
			fetched, completed := countOperations(t, batch, queues)
			f, c := total(fetched), total(completed)
			fmt.Fprintf(&table, "%5d %7d %6.2f %9.2f %6.2f\n", batch, queues, perJob(f, batch), perJob(c, batch),
				perJob(f+c, batch))
			fmt.Fprintf(&detail, "batch %d, queues %d\n  fetch:    %s\n  complete: %s\n", batch, queues,
				counts(fetched), counts(completed))
		}
	}
	got := table.String() + "\n" + detail.String()
	const golden = "testdata/operations.golden"
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "run the test with -update")
	assert.Equal(t, string(want), got, "run the test with -update if this is meant")
}

func perJob(operations, jobs int) float64 { return float64(operations) / float64(jobs) }

// countOperations fetches and completes one batch out of queues that hold more than that.
func countOperations(t *testing.T, batch, queues int) (fetched, completed map[string]int) {
	t.Helper()
	server := redistest.Embedded(t)
	s := newSite(t, server.DSN(), server.Embedded())
	var shares []rdb.Share
	var names []string
	for q := range queues {
		name := fmt.Sprint("q", q)
		for range 3 { // so that none is emptied
			ids := make([]string, batch)
			for i := range ids {
				s.calls++
				ids[i] = fmt.Sprint(name, "-", s.calls, "-", i)
			}
			s.enqueue(t, name, ids...)
		}
		names = append(names, name)
		shares = append(shares, rdb.Share{Queue: name, Jobs: batch / queues})
	}
	w := s.worker(t, "w1", names...)
	number, counter := int64(0), &tally{commands: map[string]int{}}
	fetch := func(wanted int) []rdb.Ended {
		number++
		answer, err := w.Fetch(t.Context(), number, wanted, false, shares)
		require.NoError(t, err)
		done := make([]rdb.Ended, len(answer.Jobs))
		for i := range answer.Jobs {
			done[i] = rdb.Ended{Claim: answer.Jobs[i].Claim, ID: answer.Jobs[i].ID}
		}
		return done
	}
	settle(t, w, w.Complete(fetch(1))) // Redis knows the scripts now, and tokens are there

	server.Embedded().Hook(counter.see)
	defer server.Embedded().Hook(nil)
	done := fetch(batch)
	fetched = counter.take()
	require.Len(t, done, batch)
	settle(t, w, w.Complete(done))
	return fetched, counter.take()
}

func total(counted map[string]int) int {
	sum := 0
	for _, n := range counted {
		sum += n
	}
	return sum
}

func counts(counted map[string]int) string {
	var list []string
	for _, command := range slices.Sorted(maps.Keys(counted)) {
		list = append(list, fmt.Sprint(command, " ", counted[command]))
	}
	return strings.Join(list, ", ")
}
