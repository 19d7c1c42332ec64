package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// tab is a page that somebody has open. It notes what is wrong with whatever it shows: see take.
type tab struct {
	t    *testing.T
	ctx  context.Context
	seat *seat
	site string // scheme and host of the site that it was opened for
	look look   // how it shows pages; zero until somebody cared

	mu       sync.Mutex
	home     string // scheme and host of the site that it is to stay on; "" for any
	problems []string
	status   int64 // of the document that came last
}

// open opens a tab for a site, with its login if there is one, or by the address with its token.
func (b *browser) open(t *testing.T, s *site) *tab {
	t.Helper()
	p := b.openAs(t, s, s.login)
	if s.login == "" {
		p.visit("/?token=" + token)
		p.take()
	}
	return p
}

func (b *browser) openAs(t *testing.T, s *site, login string) *tab {
	t.Helper()
	place, err := b.seat()
	require.NoError(t, err)
	p := &tab{t: t, ctx: place.ctx, seat: place, site: s.url, home: s.url}
	place.taken.Store(p)
	t.Cleanup(func() { b.giveUp(p) })
	command(p, network.Enable, network.EnableParams{})
	if login != "" {
		command(p, network.SetExtraHTTPHeaders,
			network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": login}})
	}
	return p
}

// sends is a command of the browser's protocol whose answer says nothing.
func sends[P, R any](what cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, page *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, page, what, params)
		return chromedp.Void{}, err
	}
}

// command sends a command of the browser's protocol.
func command[P, R any](p *tab, what cdp.Command[P, R], params P) R {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	answer, err := chromedp.Call(ctx, what, params)
	require.NoError(p.t, err, what.Method)
	return answer
}

// run does something in the tab.
func (p *tab) run(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, steps...))
}

// leads does something that leads to another page, and waits for that one.
func (p *tab) leads(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	_, err := chromedp.RunResponse(ctx, steps...)
	require.NoError(p.t, err)
}

// visit opens a page of the site.
func (p *tab) visit(page string) {
	p.t.Helper()
	p.leads(chromedp.Navigate(p.home + prefix + page))
}

// tries opens a page that may be refused.
func (p *tab) tries(page string) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, chromedp.Navigate(p.home+prefix+page))
}

// on makes a subtest the one that fails.
func (p *tab) on(t *testing.T) *tab {
	p.t = t
	return p
}

// press clicks on what leads to another page, with the mouse, and waits for that page.
func (p *tab) press(selector string) {
	p.t.Helper()
	p.leads(chromedp.Click(selector, chromedp.AtLeast(1)))
}

// path is that of the page that it shows.
func (p *tab) path() string {
	p.t.Helper()
	return ask[string](p, `() => location.pathname`)
}

// submit presses a button of the form that leads to that address, after opening what hides it and filling in its
// fields.
func (p *tab) submit(action, button string, fields ...string) {
	p.t.Helper()
	found := ask[bool](p, markForm, action, button)
	require.True(p.t, found, "the page has no form that leads to %s with a button %s", action, button)
	if ask[bool](p, `() => document.querySelector("[data-lid]") !== null`) {
		p.run(chromedp.Click(`[data-lid]`))
	}
	for i := 0; i < len(fields); i += 2 {
		p.fill(`[data-form] [name="`+fields[i]+`"]`, fields[i+1])
	}
	p.press(`[data-button]`)
}

// fill puts a value into a field as typing would; a field for times takes no keys that mean the same everywhere.
func (p *tab) fill(selector, value string) {
	p.t.Helper()
	p.run(chromedp.SetValue(selector, value))
}

// markForm marks the form, its button and what is to be opened first.
const markForm = `(action, button) => {
	for (const mark of ["form", "button", "lid"]) {
		document.querySelector("[data-" + mark + "]")?.removeAttribute("data-" + mark);
	}
	const clean = (address) => {
		const url = new URL(address, location);
		url.searchParams.sort();
		return url.pathname + url.search;
	};
	for (const form of document.forms) {
		if (clean(form.getAttribute("action")) !== clean(action)) continue;
		const press = [...form.querySelectorAll("button")].find((b) =>
			!button || b.innerText === button || b.value === button || b.textContent === button);
		if (!press) continue;
		form.dataset.form = press.dataset.button = "";
		const lid = form.closest("details:not([open])")?.querySelector("summary");
		if (lid) lid.dataset.lid = "";
		(lid ?? press).focus(); // the page keeps a part as it is in which somebody is about to do something
		return true;
	}
	return false;
}`

// ask calls a function of JavaScript with values, waits for what it promises and returns that.
func ask[T any](p *tab, function string, args ...any) T {
	p.t.Helper()
	values, err := json.Marshal(append([]any{}, args...)) // of none it is []
	require.NoError(p.t, err)
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	answer, err := chromedp.Run(ctx,
		chromedp.Evaluate[T](fmt.Sprintf("(%s)(...%s)", strings.TrimSpace(function), values),
			chromedp.EvalAwaitPromise))
	require.NoError(p.t, err)
	return answer
}

// notice receives everything that the browser tells about the tab.
func (p *tab) notice(event any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning ||
			e.Type == runtime.ConsoleAPICalledTypeAssert {
			p.wrong("console: %s of a script", e.Type)
		}
	case *runtime.EventExceptionThrown:
		p.wrong("console: exception: %s", said(e.ExceptionDetails))
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			p.wrong("console: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		if p.home != "" && !p.isHome(e.Request.URL) {
			p.wrong("outside request: %.200s", e.Request.URL)
		}
	case *network.EventResponseReceived:
		if e.Type == network.ResourceTypeDocument {
			p.status = e.Response.Status
			p.headers(e.Response)
		}
	}
}

// isHome tells whether nothing leaves the site: with a data address, as the browser's own icons have, nothing goes
// anywhere.
func (p *tab) isHome(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "data" || u.Scheme+"://"+u.Host == p.home)
}

// headers looks at what protects a page.
func (p *tab) headers(response *network.Response) {
	policy := ""
	for name, value := range response.Headers {
		if strings.EqualFold(name, "Content-Security-Policy") {
			policy = fmt.Sprint(value)
		}
	}
	if p.home != "" && (!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe")) {
		p.wrong("policy: %s has %q", response.URL, policy)
	}
}

// wrong notes a problem; the lock is held.
func (p *tab) wrong(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// take returns the problems since the last call.
func (p *tab) take() []string {
	p.t.Helper()
	ask[bool](p, `() => new Promise(done => setTimeout(() => done(true), 0))`) // what the page was about to say is said
	p.mu.Lock()
	defer p.mu.Unlock()
	problems := slices.Compact(p.problems)
	p.problems = nil
	return problems
}

// said is what the console says of an exception.
func said(e *runtime.ExceptionDetails) string {
	if e.Exception != nil && e.Exception.Description != "" {
		return e.Exception.Description
	}
	return e.Text
}

// look is how somebody sees a page.
type look struct {
	Width int64
	Theme string
}

func (l look) String() string { return fmt.Sprintf("%d-%s", l.Width, l.Theme) }

// looks are the ways in which every page is looked at, each but for one thing like the one before: the browser draws
// everything anew for another width.
var looks = []look{{1440, "light"}, {1440, "dark"}, {375, "dark"}, {375, "light"}}

// as shows the page so.
func (p *tab) as(l look) {
	p.t.Helper()
	const height = 900
	if p.look.Width != l.Width {
		command(p, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
			Width: l.Width, Height: height, DeviceScaleFactor: 1, Mobile: l.Width < 600,
		})
	}
	if p.look.Theme != l.Theme {
		command(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: l.Theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}})
	}
	p.look = l
	ask[bool](p, `() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
}
