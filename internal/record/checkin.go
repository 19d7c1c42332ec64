package record

import (
	"encoding/json"
	"strings"
)

// EncodeCheckin makes one text of a message and a progress: the message alone, as long as there is no progress, else
// NUL, progress, NUL, message. JSON has no NUL in it.
func EncodeCheckin(message, progress string) string {
	if progress == "" && !strings.HasPrefix(message, "\x00") {
		return message
	}
	return "\x00" + progress + "\x00" + message
}

// DecodeCheckin takes the text apart again.
func DecodeCheckin(text string) (message string, progress json.RawMessage) {
	rest, both := strings.CutPrefix(text, "\x00")
	before, after, complete := strings.Cut(rest, "\x00")
	if !both || !complete {
		return text, nil
	}
	if before == "" || !json.Valid([]byte(before)) {
		return after, nil
	}
	return after, json.RawMessage(before)
}
