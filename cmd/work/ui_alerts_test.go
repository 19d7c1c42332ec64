package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/internal/redistest"
)

// webhook is a local receiver of what is posted.
func webhook(t *testing.T) (string, <-chan string) {
	t.Helper()
	got := make(chan string, 20)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		got <- string(body)
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func TestUITellsAWebhook(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ shape, says string }{
		"json":      {"json", `"rule": "no-workers", "state": "firing"`},
		"slack":     {"slack", `{"text": "*Alert* in work: No worker is registered`},
		"pagerduty": {"pagerduty", `{"routing_key": "a-key", "event_action": "trigger", "dedup_key": "work/work/no-workers"`},
		"a file":    {fileWith(t, `{"mine": {{json .Rule}}, "at": {{json .Link}}}`), `{"mine": "no-workers", "at": "https://ops.example.com/workers"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, got := webhook(t)
			serve(t, "--alert-url", url, "--alert-shape", row.shape, "--alert-key", "a-key", "--alert-after", "1ns",
				"--alert-link", "https://ops.example.com")
			assert.Contains(t, <-got, row.says)
		})
	}
}

func TestUITellsOfEachPlace(t *testing.T) {
	t.Parallel()
	url, got := webhook(t)
	other := redistest.Embedded(t)
	serve(t, "--places", fileWith(t, "shop shop\nbilling billing "+other.DSN()+"\n"), "--alert-url-file",
		fileWith(t, url+"\n"), "--alert-after", "1ns", "--alert-link", "http://x/")
	said := <-got + <-got
	assert.Contains(t, said, `"link": "http://x/shop/workers"`)
	assert.Contains(t, said, `"link": "http://x/billing/workers"`)
}

func TestUIRefusesAlertsThatCannotBeSent(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		args []string
		says string
	}{
		"no address": {[]string{"--alert-shape", "slack"}, "give --alert-url"},
		"no web":     {[]string{"--alert-url", "file:///x"}, "begins with https://"},
		"no shape":   {[]string{"--alert-url", "http://x", "--alert-shape", "/nowhere"}, "give json, slack"},
		"no JSON": {[]string{"--alert-url", "http://x", "--alert-shape", fileWith(t, "{{.Text}}")},
			"makes no JSON"},
		"no key":       {[]string{"--alert-shape", "pagerduty"}, "key of an integration"},
		"no such file": {[]string{"--alert-url-file", "/nowhere"}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said bytes.Buffer
			a := &cli.App{In: strings.NewReader(""), Out: io.Discard, Err: &said, Hurry: t.Context()}
			args := append([]string{"--redis", redistest.Embedded(t).DSN(), "ui", "--listen", "127.0.0.1:0"},
				row.args...)
			assert.Equal(t, exit.Usage, run(t.Context(), a, args))
			assert.Contains(t, said.String(), row.says)
		})
	}
}

func TestAlertsAreListedAndSilenced(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	for _, call := range [][]string{{"alerts", "silence", "no-workers", "--for", "2h"},
		{"alerts", "hear", "no-workers"}} {
		require.Equal(t, exit.OK, s.call(append(call, "--namespace", "other")...).status)
		list := s.call("alerts", "--json", "--namespace", "other").out
		assert.Contains(t, list, `"rule":"no-workers","bad":true`)
		assert.Equal(t, call[1] == "silence", strings.Contains(list, `"silenced":"20`), list)
	}
	lines := strings.Split(s.call("alerts", "--namespace", "other").out, "\n")
	assert.Equal(t, "RULE KIND SINCE (UTC) TOLD SILENCED UNTIL WHAT", strings.Join(strings.Fields(lines[0]), " "))
	assert.Contains(t, lines[1], "No worker is registered")
	assert.Equal(t, exit.Usage, s.call("alerts", "silence", "nonsense").status)
	assert.Equal(t, exit.Usage, s.call("alerts", "silence", "no-workers", "--for", "9000h").status)
}
