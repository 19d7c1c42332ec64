package subscription

import (
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// tokenWait is one wait for a token in Redis. It goes on while the fetcher is about something else. A token that comes
// meanwhile is given to other workers at once: they may be idle, and this one may be busy for long.
type tokenWait struct {
	version int             // of the names that are served
	except  map[string]bool // names that were left out
	store   *rdb.Store
	passOn  func(name string) // gives a token to others that nobody is there to take
	cut     context.CancelFunc
	over    chan struct{} // closed when it has ended

	mu       sync.Mutex
	attended bool // the fetcher takes what comes
	name     string
	err      error
}

// begin has a goroutine wait for a token of one of these queues, and pass on what nobody is there to take.
func (t *tokenWait) begin(conn redisconn.Conn, queues []string, span time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	t.cut, t.over = cancel, make(chan struct{})
	go func() {
		defer cancel()
		defer close(t.over)
		name, err := t.store.Wait(ctx, conn, queues, span)
		if t.ended(name, err) {
			t.passOn(name)
		}
	}()
}

// ended notes what came, and tells whether that is a token that nobody takes.
func (t *tokenWait) ended(name string, err error) (unclaimed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err = err; name == "" {
		return false
	}
	if t.attended {
		t.name = name
	}
	return !t.attended
}

// attend says whether the fetcher is there. It returns the token that has come, which is the fetcher's then.
func (t *tokenWait) attend(there bool) (name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.attended = there
	name, t.name = t.name, ""
	return name
}

// end cuts the wait, with its connection, and returns the token that came just before.
func (t *tokenWait) end() (name string) {
	name = t.attend(true)
	t.cut()
	<-t.over
	return name + t.attend(true) // one of them at the most
}
