package joblog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// The bounds of a line.
const (
	MaxLine    = 4 << 10 // bytes of its JSON
	MaxMessage = 1 << 10 // bytes of its message
)

// Line is what a line of a log says. It is stored as JSON.
type Line struct {
	Time    time.Time       `json:"time"` // by Redis' clock, as the worker knew it
	Level   slog.Level      `json:"level"`
	Message string          `json:"msg"`
	Attempt int             `json:"attempt"` // 0 of a line that tells of dropped ones
	Attrs   json.RawMessage `json:"attrs"`   // an object; nil without any
}

// Decode reads a line. One that somebody else has written is a message as a whole.
func Decode(stored []byte) Line {
	var line Line
	if err := json.Unmarshal(stored, &line); err != nil {
		return Line{Message: strings.ToValidUTF8(string(bytes.TrimSpace(stored)), "\uFFFD")}
	}
	return line
}

// droppedLine stands for lines that were dropped.
func droppedLine(dropped int, now time.Time) []byte {
	const form = `{"time":%q,"level":"WARN",` +
		`"msg":"%d lines of this log were dropped: they came faster than Redis took them","attrs":{"dropped":%d}}`
	return fmt.Appendf(nil, form, now.Format(time.RFC3339Nano), dropped, dropped)
}
