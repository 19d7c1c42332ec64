package flow

import (
	"context"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/flowdb"
	"github.com/265d0351/work/internal/resize"
)

// fetching brings members that are dead back to the partition of their flow: they have left it when it was given up,
// and nobody would know what they were.
type fetching func(ctx context.Context, id string, members []string) error

// fetchAt is the fetching of other partitions.
func (p *place) fetchAt(enq *work.Enqueuer) func(there *rdb.Store, at int) fetching {
	return func(there *rdb.Store, at int) fetching {
		return (&place{store: there, m: p.m, partition: at}).fetch(enq)
	}
}

// fetch is the fetching of a place.
func (p *place) fetch(enq *work.Enqueuer) fetching {
	return func(ctx context.Context, id string, members []string) error {
		if p.m.Single() {
			return nil
		}
		ids := make([]string, len(members))
		for i, member := range members {
			ids[i] = id + "/" + member
		}
		living, err := p.store.Records(ctx, ids)
		if err != nil {
			return err
		}
		kept, err := flowdb.Of(p.store).Records(ctx, id, members...)
		if err != nil {
			return err
		}
		var missing []string
		for i := range ids {
			if living[i] == nil && kept[i] == "" {
				missing = append(missing, ids[i])
			}
		}
		if len(missing) == 0 {
			return nil
		}
		return resize.Fetch(ctx, inside.Enqueuer(enq).Partitions, p.partition, missing)
	}
}
