package webui

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/webui/internal/format"
)

// costlyPages are all that show jobs or count them, by what they are.
var costlyPages = []struct{ name, target string }{
	{"overview", ""},
	{"queues", "queues"},
	{"a queue", "queue?name=n"},
	{"jobs queued, from the front", "jobs?state=queued&name=n"},
	{"jobs queued, from the back", "jobs?state=queued&name=n&newest=1"},
	{"jobs scheduled", "jobs?state=scheduled"},
	{"jobs scheduled, due last", "jobs?state=scheduled&newest=1"},
	{"jobs retrying", "jobs?state=retrying"},
	{"jobs dead", "jobs?state=dead"},
	{"jobs dead, newest first", "jobs?state=dead&newest=1"},
	{"jobs that were cancelled", "jobs?state=cancelled&name=n"},
	{"jobs that were cancelled, oldest first", "jobs?state=cancelled&name=n&newest=0"},
	{"a job that was cancelled", "job?id=" + redistest.CrowdID("e", 777)},
	{"a job", "job?id=" + redistest.CrowdID("m", 777)},
	{"its args", "args?id=" + redistest.CrowdID("m", 777)},
	{"errors", "errors"},
	{"workers", "workers"},
	{"schedules", "schedules"},
	{"history", "history"},
	{"redis", "redis"},
}

// TestPagesCostNoMoreWhereMoreJobsAre compares what Redis spends on each page where many jobs are in each of a queue,
// scheduled, retry and the morgue with what it spends where few are. WORK_PAGES_LONG=1 does so with 1,000,000, and
// writes the figures into the file that WORK_PAGES_FIGURES names.
func TestPagesCostNoMoreWhereMoreJobsAre(t *testing.T) {
	t.Parallel()
	redistest.SkipUnderRace(t, "it measures Redis, and asks for one page after the other")
	const most = 2 // times
	few, many := 1_000, 100_000
	if os.Getenv("WORK_PAGES_LONG") == "1" {
		few, many = 10_000, 1_000_000
	}
	server := redistest.Dedicated(t, "--activerehashing", "no", "--hz", "1")
	small, large := newCrowdedPages(t, server, few), newCrowdedPages(t, server, many)
	figures := fmt.Sprintf("| page | %s jobs in each place | %s | times |\n|---|--:|--:|--:|\n", format.Count(few),
		format.Count(many))
	for _, page := range costlyPages {
		a, b := small.cost(page.target), large.cost(page.target)
		// The least of some rounds, in turns: other processes get in the way of its caches. A few rounds do where they
		// show that both cost alike.
		for round := 1; round < 15 && (round < 4 || b > most*a); round++ {
			a, b = min(a, small.cost(page.target)), min(b, large.cost(page.target))
		}
		times := float64(b) / float64(a)
		figures += fmt.Sprintf("| %s | %d µs | %d µs | %.1f |\n", page.name, a.Microseconds(), b.Microseconds(), times)
		assert.LessOrEqual(t, times, float64(most), "%s takes Redis %s instead of %s", page.name, b, a)
	}
	t.Log("\n" + figures)
	if file := os.Getenv("WORK_PAGES_FIGURES"); file != "" {
		writeFigures(t, file, figures)
	}
}

// crowdedPages is a dashboard over many jobs.
type crowdedPages struct {
	*kit
	crowd *redistest.Crowd
}

func newCrowdedPages(t *testing.T, server *redistest.Process, many int) *crowdedPages {
	t.Helper()
	k := newKit(t, server.Server())
	c := &crowdedPages{k, redistest.NewCrowd(t, server.Addr(), k.namespace, many)}
	c.crowd.AddEnded(k.namespace)
	ended, err := k.inspector.EndedCounts(k.ctx(), redistest.CrowdName)
	require.NoError(t, err)
	require.Equal(t, many, ended.Cancelled)
	require.Contains(t, k.get("jobs?state=cancelled&name=n").Text, redistest.CrowdID("e", many-1))
	counts, err := k.inspector.Counts(k.ctx())
	require.NoError(t, err)
	require.Equal(t, []int{many, many, many, many},
		[]int{counts.Queued, counts.Scheduled, counts.Retrying, counts.Dead})
	return c
}

// cost is what Redis spends on one page.
func (c *crowdedPages) cost(page string) time.Duration {
	c.t.Helper()
	const reads = 5
	before := c.crowd.Spent()
	for range reads {
		require.Equal(c.t, http.StatusOK, c.get(page).StatusCode, page)
	}
	return (c.crowd.Spent() - before) / reads
}

// writeFigures puts them between the two marks of a page.
func writeFigures(t *testing.T, file, figures string) {
	t.Helper()
	const begin, end = "<!-- pages -->\n", "<!-- end of pages -->"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	require.True(t, found && ended, "%s has no marks for the figures", file)
	require.NoError(t, os.WriteFile(file, []byte(before+begin+"\n"+figures+"\n"+end+after), 0o644))
}
