package alerts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// Message is what a template gets.
type Message struct {
	Namespace string
	Rule      Rule
	Bad       bool
	Over      bool      // it is not so any more
	Text      string    // what is wrong, or was
	Link      string    // where to look; "" where Options.Link is
	Since     time.Time // when it began
	At        time.Time // when it was told
	Key       string    // the same for all that is told of an incident
	Secret    string    // Options.Secret
}

// Severity is "critical", or "warning" of a note, as PagerDuty has it.
func (m Message) Severity() string {
	if m.Bad {
		return "critical"
	}
	return "warning"
}

// Head says in a few words what is told.
func (m Message) Head() string {
	switch {
	case m.Over:
		return "Over"
	case m.Bad:
		return "Alert"
	}
	return "Note"
}

// Shape is a template of what is posted, as JSON.
type Shape string

// The shapes of services.
const (
	ShapeJSON Shape = `{"namespace": {{json .Namespace}}, "rule": {{json .Rule}}, "state": ` +
		`{{if .Over}}"over"{{else}}"firing"{{end}}, "severity": {{json .Severity}}, "text": {{json .Text}}, ` +
		`"link": {{json .Link}}, "since": {{json .Since}}, "key": {{json .Key}}}`
	// of an incoming webhook; its address is the secret
	ShapeSlack Shape = `{"text": {{json (printf "*%s* in %s: %s%s" .Head (slack .Namespace) (slack .Text) ` +
		`(slackLink .Link))}}}`
	// of the Events API 2; Options.Secret is the integration's key
	ShapePagerDuty Shape = `{"routing_key": {{json .Secret}}, "event_action": ` +
		`{{if .Over}}"resolve"{{else}}"trigger"{{end}}, "dedup_key": {{json .Key}}, "payload": ` +
		`{"summary": {{json (limit 1024 (printf "%s: %s" .Namespace .Text))}}, "source": {{json .Namespace}}, ` +
		`"component": {{json .Rule}}, "severity": {{json .Severity}}, "timestamp": {{json .Since}}}` +
		`{{if .Link}}, "links": [{"href": {{json .Link}}, "text": "The dashboard"}]{{end}}}`
)

// PagerDutyURL is where ShapePagerDuty is posted.
const PagerDutyURL = "https://events.pagerduty.com/v2/enqueue"

var shapeFunctions = template.FuncMap{
	"json": func(value any) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	},
	"slack": strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace,
	"slackLink": func(link string) string {
		if link == "" {
			return ""
		}
		return " <" + strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E").Replace(link) + "|look>"
	},
	"limit": func(most int, text string) string {
		if len(text) <= most {
			return text
		}
		return strings.ToValidUTF8(text[:most-3], "") + "…"
	},
}

// parse tries the shape on a message, so that a mistake is found when a program begins.
func (s Shape) parse() (*template.Template, error) {
	t, err := template.New("shape").Funcs(shapeFunctions).Option("missingkey=error").Parse(string(s))
	if err != nil {
		return nil, fmt.Errorf("the shape of alerts cannot be read: %w", err)
	}
	for _, over := range []bool{false, true} {
		m := Message{Namespace: `a "name"`, Rule: NoWorkers, Over: over, Text: "\x00<&>\n", Since: time.Now()}
		if _, err := m.write(t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (m Message) write(t *template.Template) ([]byte, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, m); err != nil {
		return nil, fmt.Errorf("the shape of alerts does not fit a message: %w", err)
	}
	if !json.Valid(b.Bytes()) {
		return nil, fmt.Errorf("the shape of alerts makes no JSON: write texts as {{json .Text}}, it has made %.200q",
			b.String())
	}
	return b.Bytes(), nil
}
