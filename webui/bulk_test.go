package webui

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

func TestWhatCannotBeTakenBackIsAskedAboutFirst(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		queued(k)
		got := k.post("jobs-act?back=queues", "action", "delete", "id", "a", "id", "first")
		require.Equal(t, http.StatusOK, got.StatusCode)
		assert.Contains(t, got.Text, "Delete these 2 jobs?")
		assert.Contains(t, got.Text, `href="queues"`, "one can leave them")
		assert.Equal(t, work.StateQueued, k.state("a"), "nothing was done yet")
		assert.Contains(t, k.entries()[0].Detail, "dry run: 2 jobs would be deleted")
		got = k.post(form(t, got, "jobs-act"), "action", "delete", "id", "a", "id", "first", "sure", "1")
		require.Equal(t, http.StatusSeeOther, got.StatusCode)
		assert.True(t, strings.HasPrefix(got.Header.Get("Location"), "queues?"))
		assert.Empty(t, k.state("a"))
		assert.Empty(t, k.state("first"))
	})
}

// TestABulkOfASearchIsOfAllStatesThatTheActionIsFor: a search has no state, and what it has found is in several.
func TestABulkOfASearchIsOfAllStatesThatTheActionIsFor(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		queued(k)
		k.schedule("later", "mail")
		k.schedule("aside", "mail")
		require.NoError(t, k.inspector.Stall(k.ctx(), "aside"))
		k.schedule("other", "other")
		assert.Contains(t, targets(actions, k.get("jobs?text=mail&all=1").Text), "bulk?action=front&text=mail")
		got := k.post("bulk?action=front&text=mail")
		assert.Contains(t, got.Text, "2 of 2 jobs match.", "only those that are queued can go to the front")
		got = k.post("bulk?text=mail&action=delete")
		assert.Contains(t, got.Text, "4 of 5 jobs match.")
		assert.Contains(t, got.Text, "Selected: text mail.")
		got = k.post(form(t, got, "bulk"))
		assert.Contains(t, got.Text, "4 of 4 jobs that matched were deleted.")
		for _, id := range []string{"a", "first", "later", "aside"} {
			assert.Empty(t, k.state(id), id)
		}
		assert.Equal(t, work.StateScheduled, k.state("other"))
		for _, entry := range k.entries() {
			assert.Equal(t, []string{"text mail"}, entry.Targets)
		}
	})
}
