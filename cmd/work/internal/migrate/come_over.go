package migrate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/invalid"
)

// Coming is a job of the old side as it is to be stored here.
type Coming struct {
	Name    string
	ID      string // made of the old one
	Args    []any
	At      time.Time // the zero time is at once
	Dead    bool      // it is stalled here
	Options []work.EnqueueOption
	Meta    map[string]string // empty values are left out
	Lock    time.Duration     // how long its lock holds at the most; 0 is as its options say
	Notes   []string          // what has changed with it, and is counted by these words
}

// longAway is when a dead job would be due if it were not stalled.
const longAway = 90 * 365 * 24 * time.Hour

// entry is what is enqueued.
func (c *Coming) entry(now time.Time) work.Entry {
	e := work.Entry{Name: c.Name, Args: c.Args, At: c.At, Options: append([]work.EnqueueOption{work.ID(c.ID)},
		c.Options...)}
	if c.Dead {
		e.At = now.Add(longAway)
		e.Options = append(e.Options, work.Tags(DeadTag))
	}
	for key, value := range c.Meta {
		if value != "" {
			e.Options = append(e.Options, work.Meta(key, value))
		}
	}
	return e
}

// DeadTag is the tag of those that were dead on the old side.
const DeadTag = "was-dead"

// ID is the id of a job that had another one on the old side: the same for the same, and readable where it can be.
func ID(parts ...string) string {
	id := strings.Join(parts, "-")
	if invalid.JobID(id) == nil {
		return id
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return parts[0] + "-" + hex.EncodeToString(sum[:20])
}

// Forms of a payload that is bytes.
const (
	FormText   = "text"
	FormBase64 = "base64"
)

// Payload makes one argument of bytes: what is JSON stays that, other text is a JSON string, and what is no text a JSON
// string of its base64. The form is empty for JSON.
func Payload(payload []byte) (args []any, form string) {
	switch {
	case len(payload) == 0:
		return nil, ""
	case json.Valid(payload) && utf8.Valid(payload):
		return []any{json.RawMessage(payload)}, ""
	case utf8.Valid(payload):
		return []any{string(payload)}, FormText
	}
	return []any{base64.StdEncoding.EncodeToString(payload)}, FormBase64
}

// Brief is a text for Meta: at most 1,000 bytes of UTF-8.
func Brief(text string) string {
	const most = 1000
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// Until is how long it is to a time, at least one second.
func Until(until, now time.Time) time.Duration { return max(until.Sub(now), time.Second) }
