package rdb

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/265d0351/work/internal/loadavg"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/redisconn"
)

// Quotas is what is known of the pools that serve a queue, where each of them runs as many of its jobs as it may, or
// has no processor for them.
type Quotas struct {
	Most int // that all these pools may run; 0: some of them may run more, or that could not be seen
	Held int // that they do
	Hung int // processors of those pools, of which none is free or will be soon; 0: some are not known to hang
}

// The fields of worker:<id>:info by which a pool tells how many jobs of some names it runs at once.
const (
	InfoQuotas = "quotas" // a JSON object, name -> most
	InfoPool   = "pool"   // the same for all workers of a pool, which share them
)

// askedWorker is what a worker has told of quotas.
type askedWorker struct {
	id, pool string
	rests    bool // it takes nothing whatever its quota is
	hung     int  // processors, if all of them hang
	most     map[string]int
}

// quotas notes, of queues in which jobs were found, whether the pools that serve them have room. It costs a round trip,
// and a second one where there are quotas.
func (l *lookup) quotas(ctx context.Context) error {
	waiting := map[string]Quotas{}
	for i := range l.found {
		if f := &l.found[i]; f.Where == WhereQueue && f.Waits.Served {
			waiting[l.hints[i].queue] = Quotas{}
		}
	}
	if len(waiting) == 0 || l.crowd {
		return nil
	}
	workers, err := l.askQuotas(ctx)
	if err != nil {
		return err
	}
	for queue := range waiting {
		if !slices.ContainsFunc(workers, func(w askedWorker) bool { return w.hung+w.most[needs.Name(queue)] > 0 }) {
			continue
		}
		if waiting[queue], err = l.used(ctx, queue, workers); err != nil {
			return err
		}
	}
	for i := range l.found {
		if l.found[i].Where == WhereQueue {
			l.found[i].Waits.Quotas = waiting[l.hints[i].queue]
		}
	}
	return nil
}

func (l *lookup) askQuotas(ctx context.Context) ([]askedWorker, error) {
	calls := make([]redisconn.Call, len(l.workers))
	for i, id := range l.workers {
		calls[i] = redisconn.Call{Command: "HMGET",
			Args: []any{l.store.keys.worker(id).info, InfoQuotas, InfoPool, "wanted", InfoLoad, "concurrency"}}
	}
	values, err := l.try(ctx, calls)
	if err != nil {
		return nil, err
	}
	workers := make([]askedWorker, len(values))
	for i, value := range values {
		if value == nil {
			workers[i].id = l.workers[i]
			continue
		}
		r := redisconn.Read("HMGET", value)
		quotas := r.Bytes()
		workers[i] = askedWorker{id: l.workers[i], pool: r.Text(), rests: r.Text() != ""}
		workers[i].hung = loadavg.AllHang(r.Text(), r.Text())
		if r.Err() != nil {
			return nil, r.Err()
		}
		if json.Unmarshal(quotas, &workers[i].most) != nil { // none, or what another version has written
			workers[i].most = nil
		}
	}
	return workers, nil
}

// used looks whether every pool that serves the queue has used up its quota of it, and whether every one hangs.
func (l *lookup) used(ctx context.Context, queue string, workers []askedWorker) (Quotas, error) {
	calls := make([]redisconn.Call, 0, 2*len(workers))
	for _, w := range workers {
		of := l.store.keys.worker(w.id)
		calls = append(calls, redisconn.Call{Command: "SISMEMBER", Args: []any{of.queues, queue}},
			redisconn.Call{Command: "LLEN", Args: []any{of.inprocess(queue)}})
	}
	values, err := l.try(ctx, calls)
	if err != nil {
		return Quotas{}, err
	}
	pools, all, room, able := map[string]Quotas{}, Quotas{}, false, false
	for i, w := range workers {
		serves, _ := values[2*i].(int64)
		held, _ := values[2*i+1].(int64)
		if serves == 0 || w.rests {
			continue
		}
		most := w.most[needs.Name(queue)]
		pools[w.pool] = Quotas{Most: most, Held: pools[w.pool].Held + int(held)}
		all.Hung, room, able = all.Hung+w.hung, room || most == 0, able || w.hung == 0
	}
	for _, pool := range pools {
		all.Most, all.Held, room = all.Most+pool.Most, all.Held+pool.Held, room || pool.Held < pool.Most
	}
	if room {
		all.Most, all.Held = 0, 0
	}
	if able {
		all.Hung = 0
	}
	return all, nil
}

// try makes calls of which some may be refused, since a key has another type: their answers are nil.
func (l *lookup) try(ctx context.Context, calls []redisconn.Call) (values []any, err error) {
	for part := range slices.Chunk(calls, maxPipeline) {
		replies, err := l.store.driver.Pipeline(ctx, part...)
		if err != nil {
			return nil, err
		}
		for _, reply := range replies {
			if reply.Err != nil {
				reply.Value = nil
			}
			values = append(values, reply.Value)
		}
	}
	return values, nil
}
