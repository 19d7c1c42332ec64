package rdb

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var (
	objectDropScript        = redisconn.Load("object/drop")
	objectMarkRemovedScript = redisconn.Load("object/mark_removed")
	objectPruneScript       = redisconn.Load("object/prune")
)

// ObjectInfo is what Redis knows of one object.
type ObjectInfo struct {
	SHA        string
	LastUse    time.Time
	Size       int64 // 0 where contents live elsewhere, or the key has a wrong type
	References int   // -1 where the key has a wrong type
}

// Page reads a part of the objects. Begin with cursor "0"; it is "0" again after the last part. An object may come
// twice, and one that is there all the time comes at least once.
func (o Objects) Page(ctx context.Context, cursor string) (next string, page []ObjectInfo, err error) {
	const part = 100
	value, err := redisconn.Do(ctx, o.Store.driver,
		redisconn.Call{Command: "ZSCAN", Args: []any{o.Store.keys.objects, cursor, "COUNT", part}})
	if err != nil {
		return "", nil, err
	}
	r := redisconn.Read("ZSCAN", value)
	next = r.Text()
	members := r.List()
	for members.More() {
		page = append(page, ObjectInfo{SHA: members.Text(), LastUse: fromMillis(members.Number())})
	}
	if err := cmp.Or(r.Err(), members.Err()); err != nil {
		return "", nil, err
	}
	return next, page, o.measure(ctx, page)
}

// measure asks for sizes and references, 32 objects to a pipeline. A key of a wrong type spoils its own object only.
func (o Objects) measure(ctx context.Context, page []ObjectInfo) error {
	for len(page) > 0 {
		n := min(len(page), maxPipeline/2)
		var calls []redisconn.Call
		for i := range page[:n] {
			of := o.Store.keys.object(page[i].SHA)
			calls = append(calls, redisconn.Call{Command: "STRLEN", Args: []any{of.content}},
				redisconn.Call{Command: "SCARD", Args: []any{of.jobs}})
		}
		replies, err := o.Store.driver.Pipeline(ctx, calls...)
		if err != nil {
			return err
		}
		for i := range page[:n] {
			if err := page[i].read(replies[2*i], replies[2*i+1]); err != nil {
				return err
			}
		}
		page = page[n:]
	}
	return nil
}

// read takes a key of a wrong type for an object that nothing is known of, with -1 references, instead of failing the
// page: the collector leaves those alone, and the doctor finds them.
func (i *ObjectInfo) read(size, references redisconn.Reply) error {
	for _, reply := range []redisconn.Reply{size, references} {
		if reply.Err != nil && !strings.HasPrefix(reply.Err.Error(), "WRONGTYPE") {
			return reply.Err
		}
	}
	i.Size, _ = size.Value.(int64)
	n, ok := references.Value.(int64)
	i.References = int(n)
	if !ok {
		i.References = -1
	}
	return nil
}

// Prune looks at a part of the jobs that refer to the object and removes those that have neither a record nor an
// outcome, and are in no flow. Begin with cursor "0"; it is "0" again after the last part.
func (o Objects) Prune(ctx context.Context, sha, cursor string) (next string, removed int, err error) {
	k := o.Store.keys
	set := k.object(sha).jobs
	value, err := redisconn.Do(ctx, o.Store.driver,
		redisconn.Call{Command: "SSCAN", Args: []any{set, cursor, "COUNT", MaxBatch}})
	if err != nil {
		return "", 0, err
	}
	r := redisconn.Read("SSCAN", value)
	next = r.Text()
	ids := r.Texts()
	if r.Err() != nil {
		return "", 0, r.Err()
	}
	for len(ids) > 0 {
		n := min(len(ids), MaxBatch)
		gone, err := o.count(ctx, redisconn.Call{
			Script: objectPruneScript, Args: withIDs(nil, ids[:n]),
			Keys: []string{set, k.jobs, k.outcomes, o.Store.Key("flows"), o.Store.Key("flows:away")},
		})
		if err != nil {
			return "", removed, err
		}
		removed, ids = removed+gone, ids[n:]
	}
	return next, removed, nil
}

// Removal says which objects may go: those without references whose last use is longer ago than Grace.
type Removal struct {
	Grace time.Duration
	Mark  string        // of the collector that takes contents out of another home; empty where they are in Redis
	Lease time.Duration // how long it may take for that
}

// Drop removes those of the objects, at most [MaxBatch], that may go at this moment, and returns them. Redis frees
// contents in the script, so that their bytes count as well: 64 MiB take it a few milliseconds.
func (o Objects) Drop(ctx context.Context, removal Removal, shas []string) ([]string, error) {
	k := o.Store.keys
	keys := []string{k.objects}
	for _, sha := range shas {
		of := k.object(sha)
		keys = append(keys, of.content, of.jobs, of.leaving)
	}
	args := withIDs([]any{millis(removal.Grace), removal.Mark, millis(removal.Lease)}, shas)
	value, err := redisconn.Do(ctx, o.Store.driver, redisconn.Call{Script: objectDropScript, Keys: keys, Args: args})
	if err != nil {
		return nil, err
	}
	r := redisconn.NewReader(objectDropScript.Name, value, nil)
	return r.TextsOf(value), r.Err()
}

// Gone says that the collector of that mark has taken the content out of its home.
func (o Objects) Gone(ctx context.Context, sha, mark string) error {
	_, err := o.count(ctx, redisconn.Call{Script: objectMarkRemovedScript,
		Keys: []string{o.Store.keys.object(sha).leaving}, Args: []any{mark}})
	return err
}
