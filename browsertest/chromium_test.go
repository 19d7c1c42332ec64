package browsertest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

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

// browser is a Chromium of the test's own, without a window. Each tab has cookies and credentials to itself.
type browser struct {
	ctx context.Context
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	redistest.SkipUnderRace(t, "what a browser sees is the same, and the tests of webui look for races")
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(findChromium(t)),
		chromedp.Flag("hide-scrollbars", true),
	)
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // its sandbox refuses root
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop) // waits for the process
	ctx, leave := chromedp.NewContext(allocator)
	t.Cleanup(leave)
	require.NoError(t, chromedp.Do(ctx))
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // one that has gone needs no closing
	return &browser{ctx}
}
