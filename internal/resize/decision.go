package resize

import (
	"context"
	"errors"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
)

// decide changes the map: by a compare-and-set in partition 0, then everywhere. change is called with a map of its own,
// again where somebody else was faster, and returns false where nothing is left to be changed. No map is decided unless
// every partition has answered that is not closed: then none that was decided before can be missed.
func decide(ctx context.Context, directory *partition.Directory, change func(m *partition.Map) bool) error {
	for {
		if err := spread(ctx, directory); err != nil {
			return err
		}
		m := directory.Map().Clone()
		before := m.Version
		if !change(m) {
			return nil
		}
		m.Version = before + 1
		_, err := directory.Store(0).WriteMap(ctx, m.Version, m.Encode(), before)
		var other *rdb.RouteError
		if errors.As(err, &other) {
			if err := directory.Refresh(ctx); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return at(0, err)
		}
		directory.Learn(m)
		return spread(ctx, directory)
	}
}

// spread makes all partitions that are not closed know the newest map that any of them knows.
func spread(ctx context.Context, directory *partition.Directory) error {
	for {
		m := directory.Map()
		for i := range m.Len() {
			if m.State(i) == partition.Closed && m.Wanted <= i {
				continue
			}
			if err := know(ctx, directory, m, i); err != nil {
				return at(i, err)
			}
		}
		if directory.Map() == m {
			return nil
		}
	}
}

// know makes one partition know a map, or the directory a newer one that it has.
func know(ctx context.Context, directory *partition.Directory, m *partition.Map, i int) error {
	store := directory.Store(i)
	known := int64(0)
	if m.Version > 0 {
		var err error
		if known, err = store.WriteMap(ctx, m.Version, m.Encode(), -1); err != nil {
			return err
		}
	}
	if m.Version > 0 && known == m.Version {
		return nil
	}
	text, err := store.ReadMap(ctx)
	if err != nil || text == nil {
		return err
	}
	newer, err := partition.Decode(text)
	if err == nil {
		directory.Learn(newer)
	}
	return err
}

// at says which partition an error is about.
func at(i int, err error) error {
	if err == nil {
		return nil
	}
	return &partition.Error{Partition: i, Err: err}
}
