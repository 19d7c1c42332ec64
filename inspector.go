package work

import (
	"sync"
	"time"

	"github.com/265d0351/work/internal/rdb"
)

// Inspector looks into a namespace and puts it in order. All methods may be called concurrently.
type Inspector struct {
	store       *rdb.Store
	unusable    error // why there is no Redis, which each call returns
	morgueLimit int
	patience    time.Duration // how long the doctor watches what may still be put in order by itself

	closing sync.Once
	closed  error
	toClose rdb.Driver // nil where it belongs to somebody else
}

// doctorPatience is longer than a fleet takes to find and reap a dead worker.
const doctorPatience = 10 * time.Second

// NewInspector makes an Inspector for the Redis that dsn names, or for the Connection of [WithConnection]; [Namespace]
// says which namespace. It does not connect: that happens at the first call. The caller closes it.
func NewInspector(dsn string, opts ...EnqueuerOption) (*Inspector, error) {
	settings, err := newEnqueuerSettings(opts)
	if err != nil {
		return nil, err
	}
	driver, owned, err := openConnection(dsn, settings.connection)
	if err != nil {
		return nil, err
	}
	i := newInspector(rdb.NewStore(driver, settings.namespace), defaultMorgueLimit)
	if owned {
		i.toClose = driver
	}
	return i, nil
}

func newInspector(store *rdb.Store, morgueLimit int) *Inspector {
	return &Inspector{store: store, morgueLimit: morgueLimit, patience: doctorPatience}
}

// Inspector returns an Inspector that shares the pool's connection. It works before Start, and until Stop has ended. If
// the pool's Redis options are wrong, each of its calls returns that error. Its Close does nothing.
func (p *WorkerPool) Inspector() *Inspector {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := newInspector(nil, p.options.MorgueLimit)
	if p.closed {
		i.unusable = ErrClosed
	} else if i.unusable = p.open(); i.unusable == nil {
		i.store = p.store
	}
	return i
}

// Close closes the connection, unless it came from WithConnection or a pool. Closing again does nothing and returns the
// same error.
func (i *Inspector) Close() error {
	i.closing.Do(func() {
		if i.toClose != nil {
			i.closed = i.toClose.Close()
		}
	})
	return i.closed
}
