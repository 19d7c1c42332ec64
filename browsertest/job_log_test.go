package browsertest

import (
	"context"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

// diary starts a worker whose job "diary" writes what it is told to, until there is no more.
func (s *site) diary() chan string {
	s.t.Helper()
	said := make(chan string)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.dsn, Namespace: s.namespace,
		Logger: slog.New(slog.DiscardHandler)}).
		Job("diary", func(ctx context.Context, job *work.Job) error {
			for text := range said {
				job.Logger().WarnContext(ctx, text)
			}
			return nil
		})
	require.NoError(s.t, pool.Start(context.Background()))
	s.t.Cleanup(func() { assert.NoError(s.t, pool.Stop(s.ctx())) })
	return said
}

// TestALogIsWrittenOnAsOneLooks sees lines come on a page that was there before the first of them, stops them, and goes
// on behind the last.
func TestALogIsWrittenOnAsOneLooks(t *testing.T) {
	t.Parallel()
	b, s := newBrowser(t), newSite(t, siteOptions{})
	said := s.diary()
	_, err := s.enq.With(work.ID("a"), work.Retention(time.Hour)).Enqueue(s.ctx(), "diary")
	require.NoError(t, err)
	p := b.open(t, s)
	p.visit("/job?id=a")
	lines := func() string {
		return ask[string](p, `() => [...document.querySelectorAll("#log tbody tr")].
			map((row) => row.cells[2].innerText.trim()).join()`)
	}
	assert.False(t, ask[bool](p, `() => document.getElementById("log").checkVisibility()`), "there is none yet")
	said <- "first"
	s.until("it comes", func() bool { return lines() == "first" })
	said <- hostile
	s.until("the newest comes first", func() bool { return lines() == hostile+",first" })
	assert.False(t, ask[bool](p, `() => document.intruded === true`))
	assert.Equal(t, "It goes on.", ask[string](p, `() => document.getElementById("log-state").innerText`))
	assert.Empty(t, p.examine("job-log"))
	press := func(then string) { // by the page: what else changes there may move the button away from a mouse
		ask[bool](p, `() => { document.getElementById("log-stop").click(); return true }`)
		s.until("it says "+then, func() bool {
			return ask[string](p, `() => document.getElementById("log-state").innerText`) == then
		})
	}
	press("Stopped.")
	said <- "third"
	s.until("it is stored", func() bool {
		log, err := s.inspector.Log(s.ctx(), "a", 0)
		return err == nil && len(log) == 3
	})
	assert.Equal(t, hostile+",first", lines())
	press("It goes on.")
	s.until("each line comes once", func() bool { return lines() == "third,"+hostile+",first" })
	close(said)
	s.until("the end is told", func() bool {
		return ask[string](p, `() => document.getElementById("log-state").innerText`) == "The job has ended."
	})
	assert.False(t, ask[bool](p, `() => document.getElementById("log-stop").checkVisibility()`))
	assert.Empty(t, p.take())
}

// TestAPageSaysThatItsJobIsGone: it asks once for what is not there any more, says so, and ends its stream.
func TestAPageSaysThatItsJobIsGone(t *testing.T) {
	t.Parallel()
	left := make(chan struct{}, 1)
	b, s := newBrowser(t), newSite(t, siteOptions{harm: func(of http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			of.ServeHTTP(w, r)
			if r.URL.Path == "/live" && r.URL.RawQuery == "" { // not that of the overview, where a tab begins
				left <- struct{}{}
			}
		})
	}})
	said := s.diary()
	s.enqueue("a", "diary")
	p := b.open(t, s)
	p.visit("/job?id=a")
	s.until("its log is followed", func() bool {
		return ask[string](p, `() => document.getElementById("log-state").textContent`) == "It goes on."
	})
	p.take()
	close(said)
	s.until("it says that the job is gone", func() bool {
		return ask[string](p, `() => document.getElementById("live-state").innerText`) == "gone: as last seen"
	})
	select {
	case <-left:
	case <-time.After(patience):
		t.Fatal("the stream of a page whose job is gone goes on")
	}
	problems := p.take()
	require.Len(t, problems, 1, "the browser says of itself that it was no success: %v", problems)
	assert.Contains(t, problems[0], "404 (Not Found) "+p.home+prefix+"/job?id=a")
	assert.Equal(t, "gone: as last seen", ask[string](p, `() => document.getElementById("live-state").innerText`))
}
