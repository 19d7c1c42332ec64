package webui

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

// kept is what Redis has of who did what, the newest first.
func (k *kit) kept() []inspect.AuditEntry {
	k.t.Helper()
	page, err := k.inspector.Audit(k.ctx(), inspect.AuditOptions{})
	require.NoError(k.t, err)
	return page.Entries
}

func TestWhatPeopleDoIsKeptAndShown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.schedule("a <job>", "mail")
		k.post("job-stall?id=" + url.QueryEscape("a <job>"))
		k.do(request(http.MethodPost, "/job-delete?id=x", "viewer", nil))
		kept := k.kept()
		require.Len(t, kept, 2)
		assert.Equal(t, []string{"/job-delete", "ann", "refused"},
			[]string{kept[0].Action, kept[0].Actor, kept[0].Outcome})
		assert.Equal(t, []string{"/job-stall", "done", "192.0.2.1:1234"},
			[]string{kept[1].Action, kept[1].Outcome, kept[1].Remote})
		assert.Equal(t, []string{"a <job>"}, kept[1].Targets)

		page := k.get("audit")
		assert.Contains(t, page.Text, "a &lt;job&gt;</a>")
		assert.Contains(t, page.Text, `href="job?id=a&#43;%3Cjob%3E"`)
		assert.Contains(t, page.Text, "needs the role of an operator")
		page = k.get("audit?action=/job-stall")
		assert.NotContains(t, page.Text, "needs the role of an operator")
		assert.Contains(t, k.get("audit?actor=bob").Text, "Nothing of that kind was done")

		var told inspect.AuditPage
		require.NoError(t, json.Unmarshal([]byte(k.get("api/audit?limit=1").Text), &told))
		require.Len(t, told.Entries, 1)
		require.NotEmpty(t, told.Next)
		require.NoError(t, json.Unmarshal([]byte(k.get("api/audit?cursor="+url.QueryEscape(told.Next)).Text), &told))
		assert.Equal(t, "/job-stall", told.Entries[0].Action)
		assert.Equal(t, http.StatusBadRequest, k.get("api/audit?cursor=x").StatusCode)
	})
}

func TestTheAuditHasPages(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	for range 60 {
		require.NoError(t, k.inspector.NoteAudit(k.ctx(), inspect.AuditEntry{Actor: "bob", Action: "/queue-pause",
			Targets: []string{"mail"}, Outcome: "done"}))
	}
	first := k.get("audit?actor=bob")
	assert.Contains(t, first.Text, `href="queue?name=mail"`)
	assert.NotContains(t, first.Text, "Back to the newest")
	older := regexp.MustCompile(`<a href="([^"]*)" rel="next">Older</a>`).FindStringSubmatch(first.Text)
	require.NotNil(t, older)
	next := k.get(html.UnescapeString(older[1]))
	assert.Contains(t, next.Text, "Back to the newest")
	assert.NotContains(t, next.Text, ">Older<")
}
