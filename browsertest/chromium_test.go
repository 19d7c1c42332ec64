package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// patience is how long a test waits for a browser or a worker; nothing depends on it while all is well.
const patience = time.Minute

// programs are the names under which distributions have the browser.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

// findChromium is the path of the browser, WORK_BROWSER or one on PATH. Without one the test is skipped, or fails if
// one is required.
func findChromium(t *testing.T) string {
	t.Helper()
	path, err := lookForChromium(os.Getenv("WORK_BROWSER"), exec.LookPath)
	switch {
	case err == nil:
		return path
	case os.Getenv("WORK_REQUIRE_BROWSER") == "1":
		t.Fatalf("a browser is required (WORK_REQUIRE_BROWSER=1): %v", err)
	}
	t.Skip(err)
	return ""
}

func lookForChromium(wanted string, look func(string) (string, error)) (string, error) {
	if wanted != "" {
		return look(wanted)
	}
	for _, program := range programs {
		if path, err := look(program); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no chromium is on PATH: scripts/chromium installs it, or set WORK_BROWSER")
}

// browser is one Chromium for all tests, without a window that anybody sees: to start one takes seconds of a processor.
type browser struct {
	ctx  context.Context
	stop func()

	mu   sync.Mutex
	free []*seat
}

// seat is a page of the browser with cookies to itself. One test after the other has it: to make one takes longer than
// most of them do.
type seat struct {
	ctx   context.Context
	leave func()
	taken atomic.Pointer[tab] // nil between two tests
}

var shared struct {
	once    sync.Once
	browser *browser
	err     error
}

// newBrowser starts the browser with the first test that needs it.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	redistest.SkipUnderRace(t, "what a browser sees is the same, and the tests of webui look for races")
	path := findChromium(t)
	shared.once.Do(func() { shared.browser, shared.err = startBrowser(path) })
	require.NoError(t, shared.err)
	return shared.browser
}

func startBrowser(path string) (*browser, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path),
		chromedp.Flag("hide-scrollbars", true),
		chromedp.Flag("renderer-process-limit", "2"), // else each page begins with a process
		// a page that was left is gone, and does not wait for somebody to come back
		chromedp.Flag("disable-features", "Translate,BlinkGenPropertyTrees,BackForwardCache"),
	)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // its sandbox refuses root
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, leave := chromedp.NewContext(allocator)
	b := &browser{ctx: ctx, stop: func() {
		_ = chromedp.Cancel(ctx) // one that has gone needs no closing
		leave()
		stop() // waits for the process
	}}
	if err := chromedp.Do(ctx); err != nil {
		b.stop()
		return nil, err
	}
	return b, nil
}

// tests run with one browser, which ends before anybody looks for goroutines that are left.
type tests struct{ *testing.M }

func (t tests) Run() int {
	code := t.M.Run()
	if shared.browser != nil {
		shared.browser.stop()
	}
	forgetProgram()
	return code
}

// seat is a free one, or a new one.
func (b *browser) seat() (*seat, error) {
	b.mu.Lock()
	if last := len(b.free) - 1; last >= 0 {
		s := b.free[last]
		b.free = b.free[:last]
		b.mu.Unlock()
		return s, nil
	}
	b.mu.Unlock()
	s := &seat{}
	var leave context.CancelFunc
	s.ctx, leave = chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(s.notice))
	s.leave = func() {
		_ = chromedp.Cancel(s.ctx)
		leave()
	}
	if err := chromedp.Do(s.ctx); err != nil {
		s.leave()
		return nil, err
	}
	return s, nil
}

// notice passes on what the browser tells.
func (s *seat) notice(event any) {
	if p := s.taken.Load(); p != nil {
		p.notice(event)
	}
}

// giveUp ends what the page of the tab has open, and makes its seat as if nobody had sat there; where that fails nobody
// will again.
func (b *browser) giveUp(p *tab) {
	if err := p.wipe(); err != nil {
		p.seat.leave()
		return
	}
	p.seat.taken.Store(nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, p.seat)
}

// wipe leaves the site and forgets it. Its streams end here, before the server that waits for them.
func (p *tab) wipe() error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, chromedp.Navigate("about:blank"),
		sends(network.ClearBrowserCookies, cdp.Empty{}),
		sends(storage.ClearDataForOrigin, storage.ClearDataForOriginParams{Origin: p.site, StorageTypes: "all"}),
		sends(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{}}),
		sends(emulation.ClearDeviceMetricsOverride, cdp.Empty{}),
		sends(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{}),
		// what was on its way from the page has come
		sends(runtime.Evaluate, runtime.EvaluateParams{Expression: "0"}))
}
