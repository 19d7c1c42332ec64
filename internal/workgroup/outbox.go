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

// TakeAll appends all that is there, the newest first.
func (o *Outbox[T]) TakeAll(items []*T) []*T {
	for item := o.newest.Swap(nil); item != nil; {
		items = append(items, item)
		older := o.link(item)
		item, *older = *older, nil
	}
	return items
}
