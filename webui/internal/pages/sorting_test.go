package pages

import (
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/visit"
)

// inTheirOrder are the templates with tables whose order says something by itself, or of which a page is only a part.
var inTheirOrder = map[string]string{
	"page_audit.html":    "what was done comes in its order, in pages; the form above picks who did what",
	"page_job.html":      "steps come in the order in which they were done",
	"page_long.html":     "what the doctor finds comes as it goes on",
	"part_children.html": "the last 20 come, newest first",
	"part_jobs.html":     "jobs come in the order in which they run or have ended, in pages; the form above picks some",
	"part_log.html":      "lines come in their order",
	"part_timeline.html": "attempts come in their order",
}

// columnsWithoutOrder are heads of tables that are sorted by the others.
var columnsWithoutOrder = map[string]string{
	"page_alerts.html":    "Silence",
	"page_errors.html":    "24 hours, Jobs",
	"page_flow.html":      "Why not yet",
	"page_history.html":   "",
	"page_workers.html":   "Job, Name, Runs for, Last check-in, What it ran", // what a worker holds comes oldest first
	"part_keys.html":      "Limit, Why not more",
	"page_schedules.html": "",
}

var (
	tables = regexp.MustCompile(`(?s)<table.*?</thead>`)
	heads  = regexp.MustCompile(`(?s)<th[ >].*?</th>`)
	tags   = regexp.MustCompile(`<[^>]*>|\{\{[^}]*\}\}`)
)

// TestEveryTableCanBeSortedOrSaysWhyNot: a head of a column is made by the template "th", which has the link.
func TestEveryTableCanBeSortedOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(templateFiles, "templates/*.html")
	require.NoError(t, err)
	seen := 0
	for _, file := range files {
		text, err := fs.ReadFile(templateFiles, file)
		require.NoError(t, err)
		name := path.Base(file)
		for _, table := range tables.FindAllString(string(text), -1) {
			seen++
			if inTheirOrder[name] != "" {
				assert.NotContains(t, table, `{{template "th"`, "%s is sorted: take it from the list", name)
				continue
			}
			for _, head := range heads.FindAllString(table, -1) {
				word := strings.TrimSpace(tags.ReplaceAllString(head, ""))
				if strings.Contains(head, `class="hidden"`) || word == "" {
					continue // of buttons, and of a picture of the column beside it
				}
				assert.Contains(t, strings.Split(columnsWithoutOrder[name], ", "), word,
					"%s: nobody can sort by this column", name)
			}
		}
	}
	assert.Greater(t, seen, 15, "it has found the tables")
}

// TestServersAndStoppedWorkersSort: each column of these tables has the first row before the second.
func TestServersAndStoppedWorkersSort(t *testing.T) {
	t.Parallel()
	sortsBefore(t, columns.Nodes,
		inspect.NodeInfo{Addr: "10.0.0.1:6379", Role: "primary", State: "loading", Version: "7.2"},
		inspect.NodeInfo{Addr: "10.0.0.2:6379", Role: "replica", State: "online", Version: "8.0", MemoryUsed: 1,
			Slots: 1, Partitions: []int{1}, Lag: &inspect.ReplicaLag{}})
	sortsBefore(t, columns.Servers,
		inspect.ServerInfo{Version: "7.2", EvictionPolicy: "allkeys-lru"},
		inspect.ServerInfo{Version: "8.0", EvictionPolicy: "noeviction", Partitions: []int{0}, Uptime: 1, RoundTrip: 1,
			Operations: 1, Clients: 1, MemoryUsed: 1, Evicted: 1, AppendOnly: true})
	sortsBefore(t, columns.Stopped,
		inspect.StoppedWorker{ID: "a", Why: "died", Host: "h", PID: 9},
		inspect.StoppedWorker{ID: "b", Why: "stopped", Host: "h", PID: 10, Ended: time.Unix(1, 0), Held: 1,
			Ran: inspect.AttemptCounts{Done: 1, Failed: 1, Dead: 1}})
}

func sortsBefore[T any](t *testing.T, all []columns.Column[T], less, more T) {
	t.Helper()
	for _, c := range all {
		rows := []T{more, less}
		columns.Sort(&visit.Visit{Query: url.Values{"sort": {c.Key}}}, rows, all)
		assert.Equal(t, []T{less, more}, rows, c.Key)
		columns.Sort(&visit.Visit{Query: url.Values{"sort": {"-" + c.Key}}}, rows, all)
		assert.Equal(t, []T{more, less}, rows, c.Key)
	}
}
