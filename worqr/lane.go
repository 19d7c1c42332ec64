package worqr

import (
	"context"
	"time"

	"github.com/265d0351/work/internal/ids"
)

const (
	laneCount = 4
	laneLife  = 10 * time.Minute // longer than a request can be on its way
)

// lane numbers its calls, of which one is under way at a time, so that Redis knows one that is sent again or lands
// late.
type lane struct {
	id     string
	number int64
}

func newLanes() chan *lane {
	lanes := make(chan *lane, laneCount)
	for range laneCount {
		lanes <- &lane{id: ids.UUID()}
	}
	return lanes
}

// withLane runs call with the next number of a free lane.
func (c *Client) withLane(ctx context.Context, call func(l *lane) error) error {
	select {
	case l := <-c.lanes:
		defer func() { c.lanes <- l }()
		l.number++
		return call(l)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-c.life.Done():
		return ErrClosed
	}
}
