package work

import (
	"context"
	"sync"

	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/replicas"
	"github.com/265d0351/work/internal/sharedhome"
	"github.com/265d0351/work/objects"
)

// places are what an Enqueuer uses of each partition.
type places struct {
	parts *partition.Directory
	home  objects.Home

	mu      sync.Mutex
	objects map[int]*objects.Store
}

func newPlaces(parts *partition.Directory, home objects.Home) *places {
	return &places{parts: parts, home: home, objects: map[int]*objects.Store{}}
}

// store is that of a partition. No heartbeat tells those who enqueue that this program is too old: the store does.
func (p *places) store(number int) *rdb.Store { return p.parts.Guarded(number) }

// contents are the objects of a partition.
func (p *places) contents(number int) (*objects.Store, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.objects[number]; known != nil {
		return known, nil
	}
	contents, err := objects.New(p.store(number), objects.Options{Home: sharedhome.Of(p.home, p.parts, number)})
	if err == nil {
		p.objects[number] = contents
	}
	return contents, err
}

// site is what it stores by in a partition.
func (p *places) site(number int) intake.Site {
	store := p.store(number)
	site := intake.Site{Store: store, Witness: replicas.Of(store)}
	contents, err := p.contents(number)
	if site.Uploads = jobargs.NewUploads(contents); err != nil {
		site.Uploads = homeless{err}
	}
	return site
}

// homeless is where nothing can be uploaded.
type homeless struct{ err error }

func (h homeless) Ensure(context.Context, string, []byte) error { return h.err }
func (homeless) Forget(string)                                  {}
func (homeless) ForgetAll()                                     {}
