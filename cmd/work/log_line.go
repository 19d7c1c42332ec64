package main

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/265d0351/work"
)

// loggedLine is a line of a job's log as it is printed.
type loggedLine struct {
	Number  int64           `json:"number"`
	Time    time.Time       `json:"time"`
	Level   slog.Level      `json:"level"`
	Message string          `json:"message"`
	Attempt int             `json:"attempt,omitzero"`
	Attrs   json.RawMessage `json:"attrs,omitempty"`
}

func newLoggedLine(line work.LogLine) loggedLine {
	return loggedLine{Number: line.Number, Time: line.Time, Level: line.Level, Message: line.Message,
		Attempt: line.Attempt, Attrs: line.Attrs}
}

// String is the line for a person.
func (l loggedLine) String() string {
	text := l.Time.UTC().Format("2006-01-02 15:04:05.000") + "  " + l.Level.String() + "  " + visible(l.Message)
	if len(l.Attrs) > 0 {
		text += "  " + visible(string(l.Attrs))
	}
	return text
}
