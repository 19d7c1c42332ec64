// Package sharedhome is the home of the objects of a namespace as each of its partitions sees it.
//
// Which jobs refer to an object stands in the partition of these jobs, and contents are the same for all. So nobody who
// looks at one partition knows whether a content may go: while there are several, none goes.
package sharedhome

import (
	"context"
	"fmt"
	"iter"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/objects"
)

// Of returns the home for a partition; nil where it is nil.
func Of(home objects.Home, parts *partition.Directory, number int) objects.Home {
	if home == nil {
		return nil
	}
	shared := lasting{Home: home, parts: parts}
	if owned, remembers := home.(objects.Owned); remembers && number == 0 {
		return &first{lasting: shared, owned: owned}
	}
	return &shared
}

// lasting keeps what other partitions may need. Whom it belongs to is asked by partition 0 alone, whose name and id are
// those of the namespace.
type lasting struct {
	objects.Home
	parts *partition.Directory
}

// String is that of the home, for errors.
func (l *lasting) String() string { return fmt.Sprint(l.Home) }

// Delete removes a content, unless there are several partitions, by the newest map.
func (l *lasting) Delete(ctx context.Context, hash objects.Hash) error {
	if l.parts.Map().Single() {
		if err := l.parts.RefreshFrom(ctx, 0); err != nil {
			return err
		}
	}
	if !l.parts.Map().Single() {
		return nil
	}
	return l.Home.Delete(ctx, hash)
}

// List yields nothing where contents may be those of other partitions: they are no leftovers.
func (l *lasting) List(ctx context.Context) iter.Seq2[objects.Hash, error] {
	if !l.parts.Map().Single() {
		return func(func(objects.Hash, error) bool) {}
	}
	return l.Home.List(ctx)
}

// first is that of partition 0, which remembers to whom it belongs.
type first struct {
	lasting
	owned objects.Owned
}

func (f *first) Own(ctx context.Context, namespace string) (string, error) {
	return f.owned.Own(ctx, namespace)
}
