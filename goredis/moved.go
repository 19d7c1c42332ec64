package goredis

import (
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/265d0351/work/internal/redisconn"
)

// moved tells whether a server has answered that a slot is another's now, or about to be.
func moved(replies []redisconn.Reply) bool { return has(replies, "MOVED") || has(replies, "ASK") }

// has tells whether something was refused with a code.
func has(replies []redisconn.Reply, code string) bool {
	for i := range replies {
		if replies[i].Err != nil && codeOf(replies[i].Err) == code {
			return true
		}
	}
	return false
}

func codeOf(err error) string {
	var refused *redisconn.ServerError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// movedWhole tells whether nothing of a pipeline was run because its slot is another server's, so that all of it can be
// sent there in its order.
func movedWhole(calls []redisconn.Call, replies []redisconn.Reply) bool {
	return refusedWhole(calls, replies, "MOVED")
}

// refusedWhole tells whether every call was refused with a code. A WAIT has waited for nothing then.
func refusedWhole(calls []redisconn.Call, replies []redisconn.Reply, code string) bool {
	for i := range replies {
		if calls[i].Command != "WAIT" && codeOf(replies[i].Err) != code {
			return false
		}
	}
	return len(replies) > 0
}

// askedAt is the server that all calls are to be sent to for this once, since their slot is on its way there: it has
// the keys that the one which has the slot has not. Empty: they are not.
func askedAt(by *redis.Client, calls []redisconn.Call, replies []redisconn.Reply) string {
	if !refusedWhole(calls, replies, "ASK") {
		return ""
	}
	to := ""
	for i := range replies {
		var refused *redisconn.ServerError
		if !errors.As(replies[i].Err, &refused) {
			continue // a WAIT
		}
		words := strings.Fields(refused.Message) // ASK <slot> <host>:<port>
		if len(words) != 3 || to != "" && to != words[2] {
			return ""
		}
		to = words[2]
	}
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		return ""
	}
	if host == "" { // of a server that does not know by which name it is called: the one of who says so
		if host, _, err = net.SplitHostPort(by.Options().Addr); err != nil {
			return ""
		}
	}
	return net.JoinHostPort(host, port)
}

// asking puts ASKING in front of each call. It holds for the next call alone, so that a script is sent in full: one
// that the server does not know would be sent again without it.
func asking(calls []redisconn.Call) []redisconn.Call {
	asked := make([]redisconn.Call, 0, 2*len(calls))
	for _, call := range calls {
		call.InFull = call.Script != nil
		asked = append(asked, redisconn.Call{Command: "ASKING"}, call)
	}
	return asked
}

// answered are the replies without those to ASKING.
func answered(replies []redisconn.Reply) []redisconn.Reply {
	var rest []redisconn.Reply
	for i := 1; i < len(replies); i += 2 {
		rest = append(rest, replies[i])
	}
	return rest
}
