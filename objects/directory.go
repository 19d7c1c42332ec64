package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
)

const (
	// partial is how names of files begin that are being written.
	partial = ".part-"
	// partialLife is after which time one counts as left behind by a writer that died.
	partialLife = time.Hour
)

// directory is a Home below one path: <path>/<first two digits>/<hash>.
type directory struct{ path string }

// Directory makes a home of a directory, which it creates if need be; it may be one that several machines share. A
// content is one file under its hash. It is written under another name, synced to disk and renamed, and the directory
// is synced, so that a file under a hash is always whole and survives a crash of the machine once Put has returned.
// What writers that died have left goes away an hour later, when the store collects. Files have the mode 0600,
// directories 0700.
func Directory(path string) (Home, error) {
	if path == "" {
		return nil, errors.New("the directory for objects has no path: name one")
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("the directory %s for objects cannot be found: %w", excerpt.Quoted(path),
			excerpt.Error(err))
	}
	if err := os.MkdirAll(absolute, 0o700); err != nil {
		return nil, fmt.Errorf("the directory %s for objects cannot be made: %w", excerpt.Quoted(path),
			excerpt.Error(err))
	}
	return &directory{path: absolute}, nil
}

// file checks the hash, since it becomes a part of a path.
func (d *directory) file(ctx context.Context, hash Hash) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", context.Cause(ctx)
	}
	if err := hash.check(); err != nil {
		return "", err
	}
	return filepath.Join(d.path, string(hash[:2]), string(hash)), nil
}

func (d *directory) Put(ctx context.Context, hash Hash, content []byte) error {
	file, err := d.file(ctx, hash)
	if err != nil {
		return err
	}
	if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() && info.Size() == int64(len(content)) {
		return syncDirectory(filepath.Dir(file)) // whoever renamed it may not have come to that
	}
	return writeWhole(file, content)
}

func (d *directory) Get(ctx context.Context, hash Hash) ([]byte, error) {
	file, err := d.file(ctx, hash)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(file)
	if err == nil && info.Size() > MaxSize {
		return nil, &MismatchError{Hash: hash, Found: fmt.Sprintf("%d bytes", info.Size())}
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &VanishedError{Hash: hash}
	}
	return content, err
}

func (d *directory) Delete(ctx context.Context, hash Hash) error {
	file, err := d.file(ctx, hash)
	if err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d *directory) Has(ctx context.Context, hash Hash) (int64, bool, error) {
	file, err := d.file(ctx, hash)
	if err != nil {
		return 0, false, err
	}
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return info.Size(), true, nil
}

// List also removes what writers that died have left behind.
func (d *directory) List(ctx context.Context) iter.Seq2[Hash, error] {
	return func(yield func(Hash, error) bool) {
		err := filepath.WalkDir(d.path, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case errors.Is(err, fs.ErrNotExist):
				return nil // it went meanwhile
			case err != nil:
				return err
			case entry.IsDir():
				return nil
			case strings.HasPrefix(entry.Name(), partial):
				return removeOld(path, entry)
			}
			hash, err := ParseHash(entry.Name())
			if err != nil || filepath.Base(filepath.Dir(path)) != string(hash[:2]) {
				return nil // not ours
			}
			if !yield(hash, nil) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield("", err)
		}
	}
}

// removeOld goes by the clocks of this machine and of the disk. If they are wrong, a writer that is under way fails and
// is told so.
func removeOld(path string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || time.Since(info.ModTime()) < partialLife {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
