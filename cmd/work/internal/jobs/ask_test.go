package jobs

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/inspect"
)

// To look for few jobs among very many is asked about first: what was found by then is printed, and the cursor goes on.
func TestALongWalkIsAskedAboutFirst(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		total int
		yes   bool
		input string
		pages int
		asks  bool
		err   string
	}{
		"few":          {total: 20_000, pages: 10},
		"many":         {total: 500_000, input: "yes\n", pages: 250, asks: true},
		"refused":      {total: 500_000, input: "no\n", pages: 1, asks: true, err: "--cursor c1"},
		"not answered": {total: 500_000, pages: 1, asks: true, err: "--cursor c1"},
		"told to":      {total: 500_000, yes: true, pages: 250},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, errOut bytes.Buffer
			a := &cli.App{In: strings.NewReader(row.input), Out: &out, Err: &errOut, Path: "work jobs search"}
			read := 0
			err := listJobs(context.Background(), a, listFlags{ids: true, yes: row.yes},
				func(context.Context, string, int) (jobPage, error) {
					read++
					page := jobPage{jobs: []*inspect.JobInfo{{ID: fmt.Sprint("job", read)}}, through: 2000 * read,
						total: row.total}
					if page.through < row.total {
						page.next = fmt.Sprint("c", read)
					}
					return page, nil
				})
			assert.Equal(t, row.pages, read)
			assert.Equal(t, row.asks, strings.Contains(errOut.String(), "look at 498,000 more records, about 16s"),
				errOut.String())
			assert.Equal(t, row.pages, strings.Count(out.String(), "\n"))
			if row.err == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, row.err)
			}
		})
	}
}

func TestALimitBoundsWhatIsLookedAtWhereAllAreSelected(t *testing.T) {
	t.Parallel()
	dead := inspect.Selection{State: work.StateDead}
	assert.Equal(t, 500_000, lookedAt(dead, 500_000, 0))
	assert.Equal(t, 5, lookedAt(dead, 500_000, 5))
	assert.Equal(t, 3, lookedAt(dead, 3, 5))
	assert.Equal(t, 500_000, lookedAt(inspect.Selection{State: work.StateDead, Name: "rare"}, 500_000, 5))
}

// To say how many jobs would be deleted, all records are looked at: where these are very many, that is asked about
// first.
func TestALongCountBeforeABulkIsAskedAboutFirst(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		records, counted int
		input            string
		asks             bool
		err              string
		flags            actionFlags
		spares           bool // nothing is destroyed
	}{
		"few":          {records: 100_000, input: "yes\n", counted: 1},
		"many":         {records: 500_000, input: "yes\nyes\n", counted: 1, asks: true},
		"refused":      {records: 500_000, input: "no\n", asks: true, err: "nothing was changed"},
		"not answered": {records: 500_000, asks: true, err: "nothing was answered"},

		"few, nothing destroyed":  {records: 100_000, spares: true},
		"many, nothing destroyed": {records: 500_000, input: "yes\n", asks: true, spares: true},
		"refused, nothing destroyed": {
			records: 500_000, input: "no\n", asks: true, spares: true, err: "nothing was changed",
		},
		"many, a dry run": {records: 500_000, input: "yes\n", asks: true, flags: actionFlags{dryRun: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var errOut bytes.Buffer
			a := &cli.App{In: strings.NewReader(row.input), Err: &errOut, Path: "work jobs delete"}
			order := jobOrder{action: jobAction{name: "delete", destroys: !row.spares}, flags: row.flags}
			counted := 0
			bulk := func(context.Context, bool) (bulkResult, error) { counted++; return bulkResult{Matched: 3}, nil }
			err := confirmBulk(context.Background(), a, order,
				reach{inspect.Selection{State: work.StateDead, Name: "export"}, row.records}, bulk)
			assert.Equal(t, row.counted, counted)
			assert.Equal(t, row.asks, strings.Contains(errOut.String(), "look at 500,000 more records, about 16s"),
				errOut.String())
			if row.err == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, row.err)
			}
		})
	}
}
