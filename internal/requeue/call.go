package requeue

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Call makes the call that puts claims of one queue back to the front of it, behind older jobs that the pool has put
// there. Whoever sends it has begun that queue, and sends it before the next call for it is made.
func (o *Order) Call(ctx context.Context, w *rdb.Worker, released rdb.Released, places []Place) (redisconn.Call,
	error) {
	elements, places := o.restored(released.Queue, released.Elements, places)
	released.Elements = elements
	older, err := w.OlderInFront(ctx, released.Queue, o.Note(released.Queue, places))
	if err != nil && redisconn.MeaningOf(err) != redisconn.OfCall {
		return redisconn.Call{}, err
	} // else the key is broken, and the call itself is refused
	released.Older = older
	return w.Release(released), nil
}

// restored are the elements and their places, oldest first, where some were given back a moment ago and fetched again.
func (o *Order) restored(queue string, elements []string, places []Place) (inOrder []string, theirs []Place) {
	places = slices.Clone(places)
	for _, i := range o.Restore(queue, places) {
		inOrder, theirs = append(inOrder, elements[i]), append(theirs, places[i])
	}
	return inOrder, theirs
}

// Requeue puts claims of one queue back to the front of it that Redis lists for a worker and the worker does not hold,
// and tells how many. They come as Redis lists them, oldest first.
func (o *Order) Requeue(ctx context.Context, w *rdb.Worker, queue string, elements []string) (jobs int, err error) {
	places, err := placesOf(ctx, w, queue, elements)
	if err != nil {
		return 0, err
	}
	for end := len(elements); end > 0; end -= rdb.MaxBatch { // newest first: the oldest must end up in front
		from := max(0, end-rdb.MaxBatch)
		some, err := o.requeueSome(ctx, w, rdb.Released{Queue: queue, Elements: elements[from:end]}, places[from:end])
		jobs += some
		if err != nil {
			return jobs, err
		}
	}
	return jobs, nil
}

// placesOf asks Redis when the claims were fetched. Whatever its clock says, the list has its order.
func placesOf(ctx context.Context, w *rdb.Worker, queue string, elements []string) ([]Place, error) {
	listed, err := w.DeadClaims(ctx, []string{queue}, true)
	if err != nil {
		return nil, err
	}
	claims := map[string]rdb.DeadClaim{}
	for _, list := range listed {
		for _, claim := range list.Claims {
			claims[claim.Element] = claim
		}
	}
	places := make([]Place, len(elements))
	for i, element := range elements {
		fetched := claims[element].Fetched
		if i > 0 && fetched.Before(places[i-1].Fetched) {
			fetched = places[i-1].Fetched
		}
		places[i] = unheld(element, w.ID, fetched, i)
	}
	return places, nil
}

// requeueSome makes one call when it is its turn.
func (o *Order) requeueSome(ctx context.Context, w *rdb.Worker, released rdb.Released, places []Place) (int, error) {
	end, err := o.Begin(ctx, released.Queue)
	if err != nil {
		return 0, err
	}
	defer end()
	call, err := o.Call(ctx, w, released, places)
	if err != nil {
		return 0, err
	}
	settled, err := w.Settle(ctx, []redisconn.Call{call})
	if err != nil {
		return 0, err
	}
	return len(released.Elements) - len(settled[0].Gone), settled[0].Err
}
