package browsertest

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

// story runs a job that fails, is put off, fails again with a panic, and succeeds, with waits before and between.
func (s *site) story(id string) {
	s.t.Helper()
	attempt := 0 // of one job on one processor
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.dsn, Namespace: s.namespace,
		Logger: slog.New(slog.DiscardHandler)}).
		Job("story", func(_ *work.Job, words string) (string, error) {
			switch attempt++; attempt {
			case 1:
				return "", work.RetryIn(60*time.Millisecond, errors.New(words))
			case 2:
				return "", work.Snooze(120 * time.Millisecond)
			case 3:
				panic(work.RetryIn(30*time.Millisecond, errors.New("page 3 is missing")))
			}
			return "they lived happily", nil
		})
	_, err := s.enq.With(work.ID(id), work.Retention(time.Hour)).
		EnqueueIn(s.ctx(), "story", 50*time.Millisecond, hostile)
	require.NoError(s.t, err)
	require.NoError(s.t, pool.Start(s.ctx()))
	s.until("the story has ended", func() bool { return s.state(id) == work.StateSucceeded })
	require.NoError(s.t, pool.Stop(context.Background()))
}

// What the picture of a time line shows of itself.
type drawn struct {
	Kinds    []string // of its spans, in order
	Narrow   []string // spans that nobody could point at
	Outside  []string // what reaches out of the picture or the page
	Overlaps []string
	Titles   []string // of the attempts
	Rows     []string // outcomes in the table
}

const readTimeLine = `() => {
	const picture = document.querySelector("svg.spans"), box = picture.getBoundingClientRect();
	const found = {Kinds: [], Narrow: [], Outside: [], Overlaps: [], Titles: [], Rows: []};
	let right = box.left;
	for (const span of picture.querySelectorAll("g")) {
		const kind = span.getAttribute("class"), at = span.querySelector("rect").getBoundingClientRect();
		found.Kinds.push(kind);
		if (at.width < (kind === "run" ? 4 : 2)) found.Narrow.push(kind + " " + at.width);
		if (at.left < right - 0.5) found.Overlaps.push(kind + " " + at.left);
		right = at.right;
		if (kind === "run") found.Titles.push(span.querySelector("title").textContent);
	}
	for (const one of document.querySelectorAll("svg.spans rect, svg.spans text, .life *")) {
		const at = one.getBoundingClientRect();
		if (one.matches(".hidden, thead, thead *")) continue;
		if (at.left < -1 || at.right > innerWidth + 1) found.Outside.push(one.tagName + " " + at.left + " " + at.right);
	}
	if (document.documentElement.scrollWidth > innerWidth) found.Outside.push("the page");
	for (const cell of document.querySelectorAll(".attempts td:nth-child(2)")) found.Rows.push(cell.innerText.trim());
	return found;
}`

func TestATimeLineShowsEachAttemptAndTheWaitsBetween(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	s.story("story-1")
	p := b.open(t, s)
	for _, l := range []look{{400, "light"}, {1280, "dark"}} {
		t.Run(l.String(), func(t *testing.T) {
			p.on(t).as(l)
			p.visit("/job?id=story-1")
			line := ask[drawn](p, readTimeLine)
			assert.Equal(t, []string{"wait", "run", "wait", "run", "wait", "run", "wait", "run"}, spansOf(line.Kinds))
			assert.Equal(t, []string{"✕ failed", "z snoozed", "✕ failed", "✓ succeeded"}, line.Rows)
			require.Len(t, line.Titles, 4)
			assert.Regexp(t, `^attempt 1 failed, 20.* UTC to 20.* UTC, on \w+, .*: <script>`, line.Titles[0])
			assert.Regexp(t, `^attempt 2 snoozed, `, line.Titles[1])
			assert.Empty(t, line.Narrow)
			assert.Empty(t, line.Overlaps)
			assert.Empty(t, line.Outside)
		})
	}
	assert.Empty(t, p.examine("job-story"))
	p.visit("/jobs?state=succeeded&name=story")
	assert.Empty(t, p.examine("jobs-story"))
	p.press(`td.id a`)
	assert.Equal(t, prefix+"/job", p.path())
}

// spansOf are kinds without those that follow one of the same: a job waits until it is due, and then for a worker.
func spansOf(kinds []string) (short []string) {
	for n, kind := range kinds {
		if n == 0 || kind == "run" || kinds[n-1] != kind {
			short = append(short, kind)
		}
	}
	return short
}
