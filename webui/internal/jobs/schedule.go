package jobs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// MissedOf is what a schedule does about ticks that were missed, by its word.
func MissedOf(text string) (work.Missed, error) {
	switch text {
	case "", "once":
		return work.MissedOnce, nil
	case "skip":
		return work.MissedSkip, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, visit.BadRequest(fmt.Sprintf(`missed %q is none of "once", "skip" and "1" to "100"`,
			format.Shorten(text, 60)))
	}
	return work.MissedAll(n), nil
}

// OverlapOf is what a schedule does while its job of before is not over, by its word.
func OverlapOf(text string) (work.Overlap, error) {
	switch text {
	case "", "allow":
		return work.OverlapAllow, nil
	case "skip":
		return work.OverlapSkip, nil
	}
	return 0, visit.BadRequest(fmt.Sprintf(`overlap %q is none of "allow" and "skip"`, format.Shorten(text, 60)))
}

// ArgsIn reads args as people type them: a JSON array, each value as it stands; nothing is no args.
func ArgsIn(text string) ([]any, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var args []json.RawMessage
	if err := json.Unmarshal([]byte(text), &args); err != nil || args == nil {
		return nil, visit.BadRequest(`args are a JSON array with one value for each parameter, such as [12, "ann"]`)
	}
	values := make([]any, len(args))
	for i, arg := range args {
		values[i] = arg
	}
	return values, nil
}
