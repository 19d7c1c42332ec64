package workgroup

import (
	"context"
	"sync"
)

// Absence is the time in which an item that a goroutine of a [Pool] has taken does not need its place, since all that
// it does is wait. What works on one item may wait in several goroutines at once: the place is left when the first one
// begins to, and taken again when none waits any more.
type Absence struct {
	Leave  func() error              // leaves the place, or says why the item may not
	Return func(ctx context.Context) // takes a place again, and waits for none once ctx has ended

	mu       sync.Mutex
	waits    int  // goroutines that wait
	away     bool // the place is left
	over     bool // the item is done with
	returned chan struct{}
	hurry    context.CancelFunc // has the one that returns go on without a place; nil while none does
}

// Away reports whether the place is left. One that waits to take a place again has none.
func (a *Absence) Away() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.away
}

// Begin notes that a goroutine waits. End must follow, unless there is an error, which is that of Leave.
func (a *Absence) Begin() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.away && !a.over && a.waits == 0 {
		if err := a.Leave(); err != nil {
			return err
		}
		a.away = true
	}
	a.waits++
	return nil
}

// End notes that a goroutine waits no longer. It takes a place again if no other one waits; once ctx has ended it waits
// for none.
func (a *Absence) End(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.waits--; a.waits == 0 && a.away; {
		if a.hurry == nil {
			a.comeBack(ctx)
			continue
		}
		returned := a.returned // by another goroutine
		a.mu.Unlock()
		select {
		case <-returned:
		case <-ctx.Done():
		}
		a.mu.Lock()
		if ctx.Err() != nil {
			return
		}
	}
}

// comeBack takes a place again, and leaves it where others have begun to wait meanwhile. mu is held.
func (a *Absence) comeBack(ctx context.Context) {
	ctx, a.hurry = context.WithCancel(ctx)
	a.returned = make(chan struct{})
	a.mu.Unlock()
	a.Return(ctx)
	a.mu.Lock()
	a.hurry()
	a.hurry, a.away = nil, a.waits > 0 && !a.over && a.Leave() == nil
	close(a.returned)
}

// Close has the item in a place again at once, beside others if need be, and never leave it any more: whoever waits on
// behalf of it from now on does so without.
func (a *Absence) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	switch {
	case a.hurry != nil:
		a.hurry()
		returned := a.returned
		a.mu.Unlock()
		<-returned
		a.mu.Lock()
	case a.away:
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		a.Return(ended)
		a.away = false
	}
}
