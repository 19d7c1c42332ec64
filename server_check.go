package work

import (
	"context"
	"fmt"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/rdb"
)

// checkServer looks at what Redis says of itself, once, when a pool starts. One that is too old is refused, since
// scripts would fail in the middle of the work; one that may evict keys is reported: it would drop jobs at full memory.
func (p *WorkerPool) checkServer(ctx context.Context) error {
	facts, err := p.store.Server(ctx)
	if err != nil {
		return err
	}
	if facts.TooOld() {
		return &InvalidError{
			What: "the version of Redis", Value: facts.Version, Remedy: "use " + rdb.MinVersion + " or newer",
		}
	}
	if facts.EvictionPolicy != "" && facts.EvictionPolicy != "noeviction" {
		p.events.emit(event.ServerUnfit{
			Problem: fmt.Sprintf("its maxmemory-policy is %s: when its memory is full it drops keys, and jobs with "+
				"them", facts.EvictionPolicy),
			Remedy: "CONFIG SET maxmemory-policy noeviction",
		})
	}
	return nil
}
