package api

import (
	"encoding/json"
	"log/slog"
	"time"

	"github.com/265d0351/work/inspect"
)

// LogLine is a line of the log of a job as JSON.
type LogLine struct {
	Number  int64           `json:"number"`
	Time    time.Time       `json:"time"`
	Level   slog.Level      `json:"level"`
	Message string          `json:"message"`
	Attempt int             `json:"attempt,omitzero"`
	Attrs   json.RawMessage `json:"attrs,omitempty"`
}

func newLogLine(l inspect.LogLine) LogLine {
	line := LogLine{Number: l.Number, Time: l.Time, Level: l.Level, Message: l.Message, Attempt: l.Attempt}
	if len(l.Attrs) > 0 {
		line.Attrs = soundJSON(l.Attrs)
	}
	return line
}
