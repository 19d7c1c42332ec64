package partly

import (
	"context"
	"errors"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/redisconn"
)

// Outage is that a Redis cannot be asked for now.
type Outage struct {
	Addr    string // without user and password; "" where it is not known
	Loading bool   // it answers, but no more than that it is not ready
}

// OutageIn finds it in an error of a read. Who does not wait for the answer any more has not found out anything, and
// where a partition is away the others are not.
func OutageIn(err error) (Outage, bool) {
	var (
		unsent  *redisconn.DialError
		lost    *redisconn.LostError
		refused *redisconn.ServerError
		one     *partition.Error
	)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, redisconn.ErrClosed), errors.As(err, &one):
		return Outage{}, false
	case errors.As(err, &refused): // also as it was dialed
		is := refused.Code == "LOADING" || refused.Code == "MASTERDOWN" || refused.Code == "CLUSTERDOWN"
		return Outage{Loading: is}, is
	case errors.As(err, &unsent):
		return Outage{Addr: unsent.Addr}, true
	case errors.As(err, &lost):
		return Outage{Addr: lost.Addr}, true
	}
	return Outage{}, false
}
