package goredis

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/265d0351/work/internal/redisconn"
)

// slot is one of the 16384 parts of a cluster's keys, or anySlot.
type slot int

const (
	anySlot slot = -1
	slots   slot = redisconn.Slots
)

func slotOfKey(key string) slot { return slot(redisconn.SlotOf(key)) }

// slotOf is the one of all keys. Calls without keys go where the others do.
func slotOf(calls []redisconn.Call) (slot, error) {
	at, first := anySlot, ""
	for i := range calls {
		for _, key := range keysOf(&calls[i]) {
			switch s := slotOfKey(key); {
			case at == anySlot:
				at, first = s, key
			case s != at:
				return 0, fmt.Errorf("%s has the key %q of slot %d, and %q is of slot %d: what is sent together must "+
					"be in one slot of a cluster, so give all keys the same part in braces", calls[i].Name(), key, s,
					first, at)
			}
		}
	}
	return at, nil
}

// keysOf are the keys of a call. A plain command may have them among its arguments; for one that takes several but is
// not named here the first one says where to go, and the server refuses the rest if it must.
func keysOf(c *redisconn.Call) []string {
	if len(c.Keys) > 0 || c.Script != nil {
		return c.Keys
	}
	from, to := 0, min(1, len(c.Args))
	switch strings.ToUpper(c.Command) {
	case "PING", "TIME", "INFO", "WAIT", "MULTI", "EXEC", "CONFIG", "CLIENT", "SCRIPT", "DEBUG", "COMMAND", "SCAN",
		"KEYS", "FLUSHDB", "FLUSHALL", "DBSIZE", "REPLICAOF", "CLUSTER", "ACL", "LATENCY", "SLOWLOG", "FUNCTION",
		"PUBLISH": // a cluster takes that anywhere
		return nil
	case "MEMORY", "OBJECT": // of which a word comes first
		from, to = min(1, len(c.Args)), min(2, len(c.Args))
	case "DEL", "UNLINK", "EXISTS", "MGET", "TOUCH":
		to = len(c.Args)
	case "BLPOP", "BRPOP", "BZPOPMIN", "BZPOPMAX":
		to = len(c.Args) - 1
	case "BLMOVE", "LMOVE", "RPOPLPUSH", "BRPOPLPUSH", "RENAME", "COPY", "SMOVE":
		to = min(2, len(c.Args))
	}
	var keys []string
	for _, arg := range c.Args[from:max(from, to)] {
		keys = append(keys, string(textOf(arg)))
	}
	return keys
}

// home is the slot that was used last: calls without any key (TIME, INFO) are about the server of that one.
type home struct{ plusOne atomic.Int64 }

func (h *home) is(s slot)  { h.plusOne.Store(int64(s) + 1) }
func (h *home) slot() slot { return slot(max(0, h.plusOne.Load()-1)) }

// keyIn is a key of a slot: go-redis tells the server of a slot by a key only.
func keyIn(s slot) string { return keys()[s] }

var keys = sync.OnceValue(func() []string {
	found := make([]string, slots)
	for i, left := 0, int(slots); left > 0; i++ {
		key := fmt.Sprint(i)
		if s := slotOfKey(key); found[s] == "" {
			found[s] = key
			left--
		}
	}
	return found
})
