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

// refusedMark stands where a progress would. No progress begins so: it is no JSON.
const refusedMark = "\x00refused\x00"

// EncodeRefused is a check-in by which a worker says why Redis does not take the outcome of the job. [DecodeCheckin],
// also of programs that do not know it, takes it for a message.
func EncodeRefused(reason string) string { return refusedMark + reason }

// IsRefused tells whether a check-in is one of these.
func IsRefused(text string) bool { return strings.HasPrefix(text, refusedMark) }

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
