package alerts

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

func posted(t *testing.T, shape Shape, m Message) map[string]any {
	t.Helper()
	made, err := shape.parse()
	require.NoError(t, err)
	text, err := m.write(made)
	require.NoError(t, err)
	var read map[string]any
	require.NoError(t, json.Unmarshal(text, &read))
	return read
}

var nobody = Message{Namespace: "shop", Rule: QueuesUnserved, Bad: true, Text: `Jobs wait that no worker serves: <a & "b">`,
	Link: "https://ops.example.com/jobs/queue?name=a|b", Since: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC),
	Key: "work/shop/queues-unserved", Secret: "integration"}

func TestShapes(t *testing.T) {
	t.Parallel()
	over := nobody
	over.Over = true
	assert.Equal(t, map[string]any{"text": `*Alert* in shop: Jobs wait that no worker serves: &lt;a &amp; "b"&gt; ` +
		`<https://ops.example.com/jobs/queue?name=a%7Cb|look>`}, posted(t, ShapeSlack, nobody))
	assert.Contains(t, posted(t, ShapeSlack, over)["text"], "*Over* in shop")

	trigger := posted(t, ShapePagerDuty, nobody)
	assert.Equal(t, []any{"integration", "trigger", nobody.Key},
		[]any{trigger["routing_key"], trigger["event_action"], trigger["dedup_key"]})
	assert.Equal(t, map[string]any{"summary": "shop: " + nobody.Text, "source": "shop", "component": "queues-unserved",
		"severity": "critical", "timestamp": "2026-03-01T12:00:00Z"}, trigger["payload"])
	resolve := posted(t, ShapePagerDuty, over)
	assert.Equal(t, []any{"resolve", nobody.Key}, []any{resolve["event_action"], resolve["dedup_key"]})
	long := nobody
	long.Text, long.Link = strings.Repeat("ä", 2000), ""
	trigger = posted(t, ShapePagerDuty, long)
	assert.LessOrEqual(t, len(trigger["payload"].(map[string]any)["summary"].(string)), 1024)
	assert.NotContains(t, trigger, "links")

	plain := posted(t, ShapeJSON, nobody)
	assert.Equal(t, []any{"firing", "critical", nobody.Text, nobody.Link},
		[]any{plain["state"], plain["severity"], plain["text"], plain["link"]})
}

func TestShapesThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string][2]string{
		"no template":  {`{{`, "cannot be read"},
		"no such name": {`{"a": {{json .Nothing}}}`, "does not fit"},
		"no JSON":      {`{"text": "{{.Text}}"}`, "makes no JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Shape(row[0]).parse()
			assert.ErrorContains(t, err, row[1])
		})
	}
}

func TestOptionsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t).DSN())
	for name, row := range map[string]struct {
		opts Options
		says string
	}{
		"no address":   {Options{}, "no address"},
		"no web":       {Options{URL: "ftp://x/"}, "no address"},
		"no key":       {Options{Shape: ShapePagerDuty}, "key of an integration"},
		"too often":    {Options{URL: "http://x/", Every: time.Millisecond}, "a second or more"},
		"a bad shape":  {Options{URL: "http://x/", Shape: "{{"}, "cannot be read"},
		"no host":      {Options{URL: "https://"}, "no address"},
		"not readable": {Options{URL: "http://[::1"}, "no address"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.ErrorContains(t, Send(k.ctx(), k.inspector(), row.opts), row.says)
		})
	}
}

func TestHeadersAndTheLinkAreSent(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t).DSN())
	s := k.sender(func(o *Options) {
		o.Header, o.Link = http.Header{"authorization": {"Bearer x"}}, "https://ops.example.com/jobs/"
	})
	s.round(k.ctx())
	require.Len(t, k.hook.got, 1)
	assert.Equal(t, "Bearer x", k.hook.headers[0].Get("Authorization"))
	assert.Equal(t, "https://ops.example.com/jobs/workers", k.hook.got[0]["link"])
	assert.Equal(t, "work/"+k.namespace+"/no-workers", k.hook.got[0]["key"])
}
