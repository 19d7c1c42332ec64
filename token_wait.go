package work

import (
	"context"
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// tokenWait is one wait for a token in Redis. It goes on while the fetcher is about something else. A token that comes
// meanwhile is given to other workers at once: they may be idle, and this one may be busy for long.
type tokenWait struct {
	version int             // of the names that are served
	but     map[string]bool // names that were left out
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
func (w *tokenWait) begin(conn rdb.Conn, queues []string, span time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	w.cut, w.over = cancel, make(chan struct{})
	go func() {
		defer cancel()
		defer close(w.over)
		name, err := w.store.Wait(ctx, conn, queues, span)
		if w.ended(name, err) {
			w.passOn(name)
		}
	}()
}

// ended notes what came, and tells whether that is a token that nobody takes.
func (w *tokenWait) ended(name string, err error) (unclaimed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; name == "" {
		return false
	}
	if w.attended {
		w.name = name
	}
	return !w.attended
}

// attend says whether the fetcher is there. It returns the token that has come, which is the fetcher's then.
func (w *tokenWait) attend(there bool) (name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attended = there
	name, w.name = w.name, ""
	return name
}

// end cuts the wait, with its connection, and returns the token that came just before.
func (w *tokenWait) end() (name string) {
	name = w.attend(true)
	w.cut()
	<-w.over
	return name + w.attend(true) // one of them at the most
}
