package objects

import (
	"context"
	"iter"
	"time"
)

// Info is what is known of one object.
type Info struct {
	Hash       Hash
	Size       int64     // bytes
	References int       // jobs that refer to it
	LastUse    time.Time // by Redis' clock: when it was put or referred to
}

// Statistics is a sum over all objects of a namespace.
type Statistics struct {
	Count      int   // objects
	Bytes      int64 // of all contents
	References int   // of jobs to objects: a job that refers to two counts twice
	Unused     int   // objects that no job refers to
}

// Statistics adds all objects up. It reads them in small parts, so that what changes meanwhile may or may not count.
func (s *Store) Statistics(ctx context.Context) (Statistics, error) {
	var sum Statistics
	for info, err := range s.All(ctx) {
		if err != nil {
			return Statistics{}, err
		}
		sum.Count++
		sum.Bytes += info.Size
		sum.References += info.References
		if info.References == 0 {
			sum.Unused++
		}
	}
	return sum, nil
}

// All yields every object once, in no order, or the error that ended it. It keeps the hashes of those it has yielded,
// about 100 bytes for each.
func (s *Store) All(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		seen := map[string]bool{}
		for cursor := "0"; ; {
			next, page, err := s.redis.Page(ctx, cursor)
			if err != nil {
				yield(Info{}, err)
				return
			}
			for _, o := range page {
				if seen[o.SHA] {
					continue
				}
				seen[o.SHA] = true
				info := Info{Hash: Hash(o.SHA), References: max(0, o.References), LastUse: o.LastUse}
				if info.Size, err = s.contents.size(ctx, info.Hash, o.Size); !yield(info, err) || err != nil {
					return
				}
			}
			if cursor = next; cursor == "0" {
				return
			}
		}
	}
}
