package browsertest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/page"
	"github.com/stretchr/testify/require"
)

// audit finds contrast that is too low, fields without label, markup that is not ours and pages that are too wide.
//
//go:embed audit.js
var audit string

// intruder does what a name that got out of its text would do, and returns what of it the browser allows.
//
//go:embed intruder.js
var intruder string

// examine looks at the page that the tab shows in every way, takes its pictures where they are kept, and returns what
// is wrong with it.
func (p *tab) examine(name string) []string {
	p.t.Helper()
	problems := p.take()
	all := slices.Clone(looks)
	if p.look == all[len(all)-1] {
		slices.Reverse(all)
	}
	for _, l := range all {
		p.as(l)
		for _, wrong := range ask[[]string](p, audit, l.Width) {
			problems = append(problems, l.String()+": "+wrong)
		}
		p.picture(name + "-" + l.String())
	}
	problems = append(problems, p.nameless()...)
	problems = append(problems, p.take()...)
	problems = append(problems, ask[[]string](p, intruder, elsewhere)...)
	p.take() // what the browser has said of the intruder is as it should be
	return problems
}

// elsewhere is an address outside of any site of a test.
const elsewhere = "http://127.0.0.1:1/intruder.png"

// controls are the roles of what one can use, or what stands for something that is not text.
var controls = []string{"button", "link", "textbox", "searchbox", "checkbox", "radio", "combobox", "DisclosureTriangle",
	"image", "progressbar"}

// nameless finds controls that a screen reader could not name, by the browser's own reckoning.
func (p *tab) nameless() (problems []string) {
	p.t.Helper()
	for _, node := range command(p, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		role := words(node.Role)
		if !node.Ignored && slices.Contains(controls, role) && strings.TrimSpace(words(node.Name)) == "" {
			problems = append(problems, fmt.Sprintf("no accessible name: %s, node %d", role, node.BackendDOMNodeID))
		}
	}
	return problems
}

// words is what a screen reader says.
func words(v *accessibility.Value) (text string) {
	if v != nil {
		_ = json.Unmarshal(v.Value, &text) // other types than text are none
	}
	return text
}

// picture takes a picture of all that the tab shows for the directory that WORK_SCREENSHOTS names. Nobody looks at one
// otherwise, and drawing it took longer than all else.
func (p *tab) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("WORK_SCREENSHOTS")
	if dir == "" {
		return
	}
	shot := command(p, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: new(true)}).Data
	require.NoError(p.t, os.MkdirAll(dir, 0o755))
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), shot, 0o644))
}
