// Package filetree lists and measures the files below a directory, in two ways that share as little as can be: List
// with a Counter for the jobs of the demo, and PlainWalk to compare their results with. It knows nothing of jobs.
package filetree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/265d0351/work/cmd/work/internal/exit"
)

// File is one regular file below the directory. A path is a string of bytes as the file system has it: it need not be
// UTF-8, and it may hold anything but NUL.
type File struct {
	Path     string // relative to the directory
	Size     int64
	Modified time.Time
}

// Listing is what was found below a directory. The files and the directories that cannot be read are in the order of
// their paths.
type Listing struct {
	Files  []File
	Closed []closedDir
	Links  int // symbolic links: never followed, so that a circle of links is harmless
	Others int // pipes, sockets, devices
	Own    int // files that this program writes its output to
}

// closedDir is a directory that could not be listed.
type closedDir struct {
	Path string
	Why  string
}

// OpenDir checks that name is a directory that can be walked, and returns its absolute path with links resolved.
func OpenDir(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", exit.Usagef("there is no directory %q: name one that exists, or none for the present one", name)
	case err != nil:
		return "", exit.Usagef("directory %q cannot be looked at: %w", name, err)
	case !info.IsDir():
		return "", exit.Usagef("%q is a file, not a directory: name the directory it is in", name)
	}
	opened, err := os.Open(name)
	if err != nil {
		return "", exit.Usagef("directory %q cannot be read: %s", name, reason(err))
	}
	_ = opened.Close() // nothing was read
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("the absolute path of %q cannot be found: %w", name, err)
	}
	return filepath.EvalSymlinks(abs)
}

// List lists dir. What skip accepts is left out.
func List(ctx context.Context, dir string, skip func(fs.FileInfo) bool) (Listing, error) {
	var found Listing
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		relative, relErr := filepath.Rel(dir, path)
		if relErr != nil {
			return relErr
		}
		if err != nil {
			return found.refused(relative, entry, err)
		}
		found.add(relative, entry, skip)
		return nil
	})
	return found, err
}

// refused notes a directory that could not be listed, and one of its entries that vanished meanwhile not at all.
func (l *Listing) refused(path string, entry fs.DirEntry, err error) error {
	if path == "." {
		return fmt.Errorf("the directory cannot be listed: %w", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		l.Closed = append(l.Closed, closedDir{Path: path, Why: reason(err)})
	}
	if entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (l *Listing) add(path string, entry fs.DirEntry, skip func(fs.FileInfo) bool) {
	switch kind := entry.Type(); {
	case kind.IsDir():
		return
	case kind&fs.ModeSymlink != 0:
		l.Links++
		return
	case !kind.IsRegular():
		l.Others++
		return
	}
	info, err := entry.Info()
	if err != nil {
		return // it vanished between the listing and the look
	}
	if skip(info) {
		l.Own++
		return
	}
	l.Files = append(l.Files, File{Path: path, Size: info.Size(), Modified: info.ModTime()})
}

// reason is the bare cause of a failed file operation, without the path that names it: "permission denied".
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}
