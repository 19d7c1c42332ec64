package browsertest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
)

// pictures are those of docs/dashboard.md: which page, how, and how high.
var pictures = []struct {
	name, target string
	look
	height float64
}{
	{"overview", "/", look{1440, "light"}, 900},
	{"job", "/job?id=import-b", look{1440, "dark"}, 640},
	{"jobs-phone", "/jobs?state=dead&newest=1", look{375, "light"}, 900},
	{"overview-phone", "/", look{375, "dark"}, 900},
}

// largest is how many bytes a picture in the repository may have.
const largest = 150_000

// TestPicturesForTheGuide takes them of a shop that has been open for an hour, into the directory that WORK_PICTURES
// names, or for nothing but to see that they can be taken.
func TestPicturesForTheGuide(t *testing.T) {
	dir := os.Getenv("WORK_PICTURES")
	if dir == "" {
		dir = t.TempDir()
	}
	b, s := newBrowser(t), newSite(t, siteOptions{server: redistest.Embedded(t)})
	s.hourOfTrade()
	s.renewEnqueuer()
	s.shop()
	s.server.Embedded().Advance(2 * time.Second)
	p := b.open(t, s)
	for _, picture := range pictures {
		p.as(picture.look)
		p.visit(picture.target)
		shot := command(p, page.CaptureScreenshot, page.CaptureScreenshotParams{
			CaptureBeyondViewport: new(true),
			Clip:                  &page.Viewport{Width: float64(picture.Width), Height: picture.height, Scale: 1},
		}).Data
		assert.Less(t, len(shot), largest, picture.name)
		require.NoError(t, os.MkdirAll(dir, 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, picture.name+".png"), shot, 0o644))
	}
}

// hourOfTrade makes a history: in each minute of the last hour workers come, do what there is, and leave.
func (s *site) hourOfTrade() {
	s.t.Helper()
	server := s.server.Embedded()
	require.NotNil(s.t, server, "time can be moved on the embedded Redis alone")
	server.SetTime(time.Now().Add(-time.Hour))
	for minute := range 60 {
		s.minuteOfTrade(minute)
		server.Advance(time.Minute)
	}
	server.SetTime(time.Now())
}

// renewEnqueuer takes one that asks Redis for the time anew: the old one reckons from what it was before it was moved.
func (s *site) renewEnqueuer() {
	s.t.Helper()
	require.NoError(s.t, s.enq.Close())
	var err error
	s.enq, err = work.NewEnqueuer(s.dsn, work.Namespace(s.namespace))
	require.NoError(s.t, err)
}

func (s *site) minuteOfTrade(minute int) {
	s.t.Helper()
	jobs := 40 + minute*7%11*3 + minute/2
	if minute > 33 && minute < 39 {
		jobs += 60 // when the post comes
	}
	entries := make([]work.Entry, jobs)
	for n := range entries {
		entries[n] = work.Entry{Name: []string{"mail", "mail", "invoice"}[n%3], Args: []any{"someone@example.com"}}
		if n%15 == 3 {
			entries[n].Name = "import"
		}
	}
	inADay := func(*work.Job, error) time.Duration { return 24 * time.Hour }
	pool := work.NewWorkerPool(nil, 4, work.WorkerOptions{Redis: s.dsn, Namespace: s.namespace, Service: "shop",
		Logger: slog.New(slog.DiscardHandler)}).
		JobWithOptions("import", work.JobOptions{Backoff: inADay},
			func(string) error { return errors.New("the price list is locked") }).
		Job("mail", send).Job("invoice", send)
	require.NoError(s.t, pool.Start(s.ctx()))
	s.renewEnqueuer()
	_, err := s.enq.EnqueueMany(s.ctx(), entries)
	require.NoError(s.t, err)
	require.NoError(s.t, pool.Drain(s.ctx()))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(s.t, pool.Stop(ctx))
}

func send(string) error { return nil }
