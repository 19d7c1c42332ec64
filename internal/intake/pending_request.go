package intake

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// pendingRequest is what one caller sends in one call, as a whole.
type pendingRequest struct {
	jobs      []rdb.NewJob
	one       [1]rdb.NewJob // room for one job that comes alone
	bytes     int
	confirmed bool  // it is told of once replicas have it
	to        *site // where it goes; nil: anywhere
	loose     bool  // it may go to another partition as well, if that fails
	version   int64 // of the map by which it goes there
	until     time.Time

	arrived chan struct{} // has room for one: the answer is there
	timer   *time.Timer

	// Guarded by the mu of lanes.
	call     *batchCall // nil while it waits in line
	inLine   bool
	left     bool // its caller waits no longer
	answered bool
	answer   answer
}

// route is where a request goes. The zero value is anywhere, by no map.
type route struct {
	to      *site
	loose   bool
	version int64     // of the map
	until   time.Time // when it is over; the zero time is as long as a call may take
}

func (l *lanes) newRequest(jobs []rdb.NewJob, bytes int, by route) *pendingRequest {
	p, ok := l.requests.Get().(*pendingRequest)
	if !ok {
		p = &pendingRequest{arrived: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
		p.timer.Stop()
	}
	p.jobs, p.bytes, p.to, p.loose, p.version, p.until = jobs, bytes, by.to, by.loose, by.version, by.until
	if by.until.IsZero() {
		p.until = time.Now().Add(l.Timeout)
	}
	return p
}

// putBack keeps a request for another caller. It must have been answered, so that no call has it any longer. One that
// was not stored is not used again: a client that was given up may still be reading its jobs.
func (l *lanes) putBack(p *pendingRequest) {
	if p.answer.outcome != Stored {
		return
	}
	*p = pendingRequest{arrived: p.arrived, timer: p.timer}
	l.requests.Put(p)
}

// await waits for the answer to a request that stands in line.
func (l *lanes) await(ctx context.Context, p *pendingRequest, at *desk) answer {
	p.timer.Reset(time.Until(p.until))
	var cause error
	select {
	case <-p.arrived:
		p.timer.Stop()
		a := p.answer
		l.putBack(p)
		return a
	case <-ctx.Done():
		p.timer.Stop()
		cause = context.Cause(ctx)
	case <-p.timer.C:
		cause = l.timedOut()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case p.answered:
		return p.answer
	case p.call != nil:
		return p.call.leave(p, cause)
	}
	at.line = slices.DeleteFunc(at.line, func(other *pendingRequest) bool { return other == p })
	err := fmt.Errorf("it waited behind calls that Redis has not answered: %w", cause)
	if p.to != nil {
		err = l.located(err, p.to)
	}
	return answer{outcome: NotStored, err: err}
}
