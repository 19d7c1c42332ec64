package rdb

import (
	"strconv"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

// FlowEnd tells that a flow has ended, by the call that was answered so. A call that is sent again does not end it
// again, so that of a lost answer nobody is told.
type FlowEnd struct {
	Flow       string
	How        string // done, dead or cancelled
	Generation int    // 1, and one more with each time it was opened again
	Members    int
	Took       time.Duration // since it was sealed
}

// TellFlows has somebody told of the ends of flows by calls of this store, and of those that are made of it from now
// on, but for those of [Worker.Settle]. It is called before the store is used.
func (s *Store) TellFlows(tell func(FlowEnd)) { s.tell = tell }

// FlowEnded takes from an answer what stands behind line feeds, and tells of the flows that have ended.
func (s *Store) FlowEnded(script, answer string) (rest string, err error) {
	rest, text, ended := strings.Cut(answer, "\n")
	for ended {
		var one string
		one, text, ended = strings.Cut(text, "\n")
		end, err := parseFlowEnd(script, one)
		if err != nil {
			return rest, err
		}
		if s.tell != nil {
			s.tell(end)
		}
	}
	return rest, nil
}

// parseFlowEnd reads what flow_finish of lua/prelude.lua says.
func parseFlowEnd(script, text string) (end FlowEnd, err error) {
	parts := strings.SplitN(text, " ", 5)
	if len(parts) != 5 {
		return end, &redisconn.UnexpectedReplyError{Script: script, Reply: text}
	}
	var numbers [3]int64
	for i := range numbers {
		if numbers[i], err = strconv.ParseInt(parts[1+i], 10, 64); err != nil {
			return end, &redisconn.UnexpectedReplyError{Script: script, Reply: text}
		}
	}
	return FlowEnd{Flow: parts[4], How: parts[0], Generation: int(numbers[0]), Members: int(numbers[1]),
		Took: time.Duration(numbers[2]) * time.Millisecond}, nil
}
