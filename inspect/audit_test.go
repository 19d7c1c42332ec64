package inspect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/redistest"
)

func TestWhatPeopleDidIsToldNewestFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		i := k.inspector()
		page, err := i.Audit(k.Ctx(), inspect.AuditOptions{})
		require.NoError(t, err)
		assert.Empty(t, page.Entries)
		for n := range 7 {
			require.NoError(t, i.NoteAudit(k.Ctx(), inspect.AuditEntry{Actor: []string{"ann", "bob"}[n%2],
				Action: "/job-retry", Targets: []string{fmt.Sprint("job ",
					n)}, Outcome: "done", Detail: "It is queued."}))
		}
		var seen []string
		opts := inspect.AuditOptions{Limit: 3}
		for pages := 0; ; pages++ {
			page, err := i.Audit(k.Ctx(), opts)
			require.NoError(t, err)
			for _, e := range page.Entries {
				seen = append(seen, e.Targets...)
				assert.WithinDuration(t, time.Now(), e.At, time.Hour)
				assert.Equal(t, "It is queued.", e.Detail)
			}
			if opts.Cursor = page.Next; page.Next == "" {
				assert.Equal(t, 2, pages)
				break
			}
		}
		assert.Equal(t, []string{"job 6", "job 5", "job 4", "job 3", "job 2", "job 1", "job 0"}, seen,
			"also those of one millisecond")
		page, err = i.Audit(k.Ctx(), inspect.AuditOptions{Actor: "bob"})
		require.NoError(t, err)
		assert.Len(t, page.Entries, 3)
		page, err = i.Audit(k.Ctx(), inspect.AuditOptions{Target: "job 4"})
		require.NoError(t, err)
		require.Len(t, page.Entries, 1)
		assert.Equal(t, "ann", page.Entries[0].Actor)
		page, err = i.Audit(k.Ctx(), inspect.AuditOptions{Action: "/queue-pause"})
		require.NoError(t, err)
		assert.Empty(t, page.Entries)
	})
}

// What an action names may be long, and many: an entry stays small.
func TestLongEntriesAreCut(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	i := k.inspector()
	targets := make([]string, 300)
	for n := range targets {
		targets[n] = strings.Repeat("ä", 400)
	}
	require.NoError(t, i.NoteAudit(k.Ctx(), inspect.AuditEntry{Actor: strings.Repeat("a", 5000), Action: "/jobs-act",
		Targets: targets, Detail: strings.Repeat("d", 5000)}))
	page, err := i.Audit(k.Ctx(), inspect.AuditOptions{Target: targets[0]})
	require.NoError(t, err)
	require.Len(t, page.Entries, 1)
	e := page.Entries[0]
	assert.Len(t, e.Targets, 20)
	assert.Equal(t, 280, e.LeftOut)
	assert.Less(t, len(e.Actor)+len(e.Detail)+len(strings.Join(e.Targets, "")), 4<<10)
	assert.NotContains(t, e.Targets[0], "�")
}

func TestOptionsOfTheAuditAreChecked(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	for name, opts := range map[string]inspect.AuditOptions{
		"limit": {Limit: 1001}, "cursor": {Cursor: "x-y"}, "half a cursor": {Cursor: "12"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := k.inspector().Audit(k.Ctx(), opts)
			var invalid *work.InvalidError
			require.ErrorAs(t, err, &invalid)
		})
	}
}

// TestWhatPeopleDidIsKeptWhileAPartitionIsDown by one that answers; alerts and their silences are in the first one.
func TestWhatPeopleDidIsKeptWhileAPartitionIsDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(int, *kit) {})
		note := func(target string) error {
			return d.i.NoteAudit(d.Ctx(), inspect.AuditEntry{Actor: "ann", Action: "/job-retry",
				Targets: []string{target}})
		}
		targets := func() (of []string, err error) {
			page, err := d.i.Audit(d.Ctx(), inspect.AuditOptions{})
			for _, e := range page.Entries {
				of = append(of, e.Targets...)
			}
			return of, err
		}
		require.NoError(t, note("before"))
		d.outages.Set(0, partitiontest.Down)
		require.NoError(t, note("meanwhile"), "another partition has it")
		seen, err := targets()
		var partial *inspect.PartialError
		require.ErrorAs(t, err, &partial)
		assert.Equal(t, []string{"meanwhile"}, seen)
		require.Error(t, d.i.SilenceAlert(d.Ctx(), "no-workers", time.Hour, "ann"))
		_, _, err = d.i.Incidents(d.Ctx())
		require.Error(t, err)

		d.outages.Up(0)
		d.outages.Set(1, partitiontest.Down)
		seen, err = targets()
		d.missing(err)
		assert.Contains(t, seen, "before")
		require.NoError(t, d.i.SilenceAlert(d.Ctx(), "no-workers", time.Hour, "ann"))
		_, silences, err := d.i.Incidents(d.Ctx())
		require.NoError(t, err)
		assert.Len(t, silences, 1)
	})
}
