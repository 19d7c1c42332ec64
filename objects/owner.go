package objects

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/265d0351/work/internal/rdb"
)

// Owned is a [Home] that remembers which namespace of which Redis it belongs to. A store of another one refuses it: its
// collector would take every content that its own jobs do not refer to, which are all of the other. A home without it
// must be kept to one namespace by whoever deploys.
type Owned interface {
	Home
	// Own gives the home to a namespace if it belongs to none, at once for all who ask, and returns to which it
	// belongs. The text has the name of the namespace and an id by which it is told from one of that name in another
	// Redis.
	Own(ctx context.Context, namespace string) (owner string, err error)
}

// ownership is what a store knows of the owner of its home.
type ownership struct {
	redis rdb.Objects
	sure  atomic.Bool
}

// claim refuses a home that belongs to another namespace.
func (o *ownership) claim(ctx context.Context, home Home) error {
	owned, remembers := home.(Owned)
	if !remembers || o.sure.Load() {
		return nil
	}
	id, err := repeated(ctx, func() (string, error) { return o.redis.HomeID(ctx, rand.Text()) })
	if err != nil {
		return fmt.Errorf("the id of the owner of objects could not be read: %w", err)
	}
	namespace := strings.TrimSuffix(o.redis.Store.FullName(""), ":") + " " + id
	owner, err := owned.Own(ctx, namespace)
	if err != nil {
		return fmt.Errorf("it cannot be told to whom the home of the objects belongs: %w", err)
	}
	if owner != namespace {
		return &OptionError{Option: "Home", Value: fmt.Sprint(home),
			Remedy: fmt.Sprintf("it belongs to the namespace %.160q, "+
				"and this one is %q, whose collector would remove the objects of the other: give each a home of its "+
				"own; if Redis has lost its data, remove .owner", owner, namespace)}
	}
	o.sure.Store(true)
	return nil
}

// ownerFile is where a directory says to which namespace it belongs.
const ownerFile = ".owner"

// String is its path, for errors.
func (d *directory) String() string { return d.path }

// Own writes the name of the namespace into a file of its own, which is linked to its place, so that it is whole and
// one comes first.
func (d *directory) Own(ctx context.Context, namespace string) (owner string, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	place := filepath.Join(d.path, ownerFile)
	written, err := os.ReadFile(place)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return string(written), err
	}
	file, err := os.CreateTemp(d.path, partial+"owner-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.Remove(file.Name()) }() // what is left of it is collected as what an upload leaves
	_, err = file.WriteString(namespace)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return "", err
	}
	if err := os.Link(file.Name(), place); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if err := syncDirectory(d.path); err != nil {
		return "", err
	}
	written, err = os.ReadFile(place)
	return string(written), err
}
