package middleware

import (
	"bytes"
	"encoding/json"
	"runtime/pprof"
	"strings"
)

// stackOf returns the stacks of the goroutines that run this job, as the goroutine profile shows them in its readable
// form: blocks of a count, labels and frames. An empty line stands between two.
func stackOf(name, id string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return "" // a Buffer refuses nothing
	}
	var found []string
	for block := range strings.SplitSeq(profile.String(), "\n\n") {
		labels, frames, ok := cutLabels(block)
		if ok && labels["job"] == name && labels["id"] == id {
			found = append(found, frames)
		}
	}
	return strings.Join(found, "\n\n")
}

// cutLabels takes a block of the profile apart. The frames come without the marks of a comment.
func cutLabels(block string) (labels map[string]string, frames string, ok bool) {
	_, rest, ok := strings.Cut(block, "\n# labels: ")
	if !ok {
		return nil, "", false
	}
	line, rest, _ := strings.Cut(rest, "\n")
	if err := json.Unmarshal([]byte(line), &labels); err != nil {
		return nil, "", false
	}
	var kept []string
	for frame := range strings.Lines(rest) {
		kept = append(kept, strings.TrimSpace(strings.TrimPrefix(frame, "#")))
	}
	return labels, strings.Join(kept, "\n"), true
}
