package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// file is one regular file below the directory. A path is a string of bytes as the file system has it: it need not be
// UTF-8, and it may hold anything but NUL.
type file struct {
	path     string // relative to the directory
	size     int64
	modified time.Time
}

// listing is what was found below a directory. The files and the directories that cannot be read are in the order of
// their paths.
type listing struct {
	files  []file
	closed []closedDir
	links  int // symbolic links: never followed, so that a circle of links is harmless
	others int // pipes, sockets, devices
	own    int // files that this program writes its output to
}

// closedDir is a directory that could not be listed.
type closedDir struct {
	path string
	why  string
}

// openDir checks that name is a directory that can be walked, and returns its absolute path with links resolved.
func openDir(name string) (string, error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", usagef("there is no directory %q: name one that exists, or none for the present one", name)
	case err != nil:
		return "", usagef("directory %q cannot be looked at: %w", name, err)
	case !info.IsDir():
		return "", usagef("%q is a file, not a directory: name the directory it is in", name)
	}
	opened, err := os.Open(name)
	if err != nil {
		return "", usagef("directory %q cannot be read: %s", name, reason(err))
	}
	_ = opened.Close() // nothing was read
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("the absolute path of %q cannot be found: %w", name, err)
	}
	return filepath.EvalSymlinks(abs)
}

// walk lists dir. What skip accepts is left out.
func walk(ctx context.Context, dir string, skip func(fs.FileInfo) bool) (listing, error) {
	var found listing
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
func (l *listing) refused(path string, entry fs.DirEntry, err error) error {
	if path == "." {
		return fmt.Errorf("the directory cannot be listed: %w", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		l.closed = append(l.closed, closedDir{path: path, why: reason(err)})
	}
	if entry != nil && entry.IsDir() {
		return fs.SkipDir
	}
	return nil
}

func (l *listing) add(path string, entry fs.DirEntry, skip func(fs.FileInfo) bool) {
	switch kind := entry.Type(); {
	case kind.IsDir():
		return
	case kind&fs.ModeSymlink != 0:
		l.links++
		return
	case !kind.IsRegular():
		l.others++
		return
	}
	info, err := entry.Info()
	if err != nil {
		return // it vanished between the listing and the look
	}
	if skip(info) {
		l.own++
		return
	}
	l.files = append(l.files, file{path: path, size: info.Size(), modified: info.ModTime()})
}

// reason is the bare cause of a failed file operation, without the path that names it: "permission denied".
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}
