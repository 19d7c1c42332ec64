package work

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// passes tells whether a refusal ends by itself: the server is loading, a replica, busy, or has no connection left.
func passes(err error) bool {
	var refused *rdb.ServerError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case "LOADING", "READONLY", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOREPLICAS":
		return true
	}
	return strings.Contains(refused.Message, "max number of clients")
}

// concernsServer tells whether a refusal has to do with the server as a whole, and not with one job: what is refused
// so is kept and sent again, since somebody will mend the server.
func concernsServer(err error) bool {
	var refused *rdb.ServerError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code {
	case "OOM", "MISCONF", "UNKILLABLE", "NOAUTH", "NOPERM", "WRONGPASS":
		return true
	}
	return passes(err)
}

// backoffFor is how long to wait after so many failures in a row: from 50 ms to 2 s, with jitter, so that the workers
// of a fleet and the callers of a program do not come back all at once.
func backoffFor(failures int) time.Duration {
	ceiling := min(50*time.Millisecond<<min(failures-1, 10), 2*time.Second)
	return ceiling/2 + rand.N(ceiling/2)
}

// pause waits, and returns false when ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}

// maxRereads is how often something is read again that others change at the same time.
const maxRereads = 50

// rereads counts the tries of one who changes what others change too. All give way, each for longer the more often it
// was too late, so that each gets its turn.
func rereads(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := range maxRereads {
			if n > 2 {
				pause(ctx, rand.N(time.Duration(n)*time.Millisecond)) // what follows sees whether ctx has ended
			}
			if !yield(n) {
				return
			}
		}
	}
}
