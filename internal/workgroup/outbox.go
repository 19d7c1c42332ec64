package workgroup

import "sync/atomic"

// Outbox holds items until one goroutine takes them, all at once. It is a stack without a lock, so that those who put
// never wait for one another, and without memory of its own: the items are linked.
type Outbox[T any] struct {
	Filled Wakeup // woken when the first item comes

	link   func(*T) **T
	newest atomic.Pointer[T]
}

// NewOutbox makes an outbox of items that have a field for the link to the one before, which link returns.
func NewOutbox[T any](link func(*T) **T) *Outbox[T] {
	return &Outbox[T]{Filled: NewWakeup(), link: link}
}

// Put adds an item, which is in no outbox.
func (o *Outbox[T]) Put(item *T) {
	for {
		before := o.newest.Load()
		*o.link(item) = before
		if !o.newest.CompareAndSwap(before, item) {
			continue
		}
		if before == nil {
			o.Filled.Wake()
		}
		return
	}
}

// PutAll adds items, which are in no outbox, so that whoever takes gets all of them or none.
func (o *Outbox[T]) PutAll(items []*T) {
	if len(items) == 0 {
		return
	}
	for i := range len(items) - 1 {
		*o.link(items[i+1]) = items[i]
	}
	last := items[len(items)-1]
	for {
		before := o.newest.Load()
		*o.link(items[0]) = before
		if !o.newest.CompareAndSwap(before, last) {
			continue
		}
		if before == nil {
			o.Filled.Wake()
		}
		return
	}
}

// TakeAll appends all that is there, the newest first.
func (o *Outbox[T]) TakeAll(items []*T) []*T {
	for item := o.newest.Swap(nil); item != nil; {
		items = append(items, item)
		older := o.link(item)
		item, *older = *older, nil
	}
	return items
}
