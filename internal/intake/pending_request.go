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
	bytes     int
	confirmed bool // it is told of once replicas have it

	arrived chan struct{} // has room for one: the answer is there
	timer   *time.Timer

	// Guarded by the mu of lanes.
	call     *batchCall // nil while it waits in line
	inLine   bool
	left     bool // its caller waits no longer
	answered bool
	answer   answer
}

func (l *lanes) newRequest(jobs []rdb.NewJob, bytes int) *pendingRequest {
	p, ok := l.requests.Get().(*pendingRequest)
	if !ok {
		p = &pendingRequest{arrived: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
		p.timer.Stop()
	}
	p.jobs, p.bytes = jobs, bytes
	return p
}

// putBack keeps a request for another caller. It must have been answered, so that no call has it any longer.
func (l *lanes) putBack(p *pendingRequest) {
	*p = pendingRequest{arrived: p.arrived, timer: p.timer}
	l.requests.Put(p)
}

// await waits for the answer to a request that stands in line.
func (l *lanes) await(ctx context.Context, p *pendingRequest) answer {
	p.timer.Reset(l.Timeout)
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
	l.line = slices.DeleteFunc(l.line, func(other *pendingRequest) bool { return other == p })
	return answer{outcome: NotStored, err: fmt.Errorf("it waited behind calls that Redis has not answered: %w", cause)}
}
