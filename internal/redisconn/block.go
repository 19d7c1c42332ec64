package redisconn

import (
	"strconv"
	"time"
)

// ShortestBlock is how long a command that blocks waits at the least. Redis waits for ever where it is told 0, and may
// take a millisecond for that.
const ShortestBlock = 10 * time.Millisecond

// BlockFor writes for how long a command is to block as Redis reads it: seconds.
func BlockFor(timeout time.Duration) string {
	return strconv.FormatFloat(max(timeout, ShortestBlock).Seconds(), 'f', 3, 64)
}
