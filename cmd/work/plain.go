package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"unicode"
)

// plainWalk measures every file below dir again, one after the other, without jobs. It is what the results of the jobs
// are compared with, so it shares as little code with them as can be: its own recursion, its own reading and counting.
type plainWalk struct {
	dir    string
	skip   func(fs.FileInfo) bool
	found  map[string]measurement // by path relative to dir
	listed map[string]fs.FileInfo

	visited func() // is called after each file
}

func newPlainWalk(dir string, skip func(fs.FileInfo) bool) *plainWalk {
	return &plainWalk{dir: dir, skip: skip, found: map[string]measurement{}, listed: map[string]fs.FileInfo{},
		visited: func() {}}
}

// run fills found and listed.
func (p *plainWalk) run(ctx context.Context) error { return p.descend(ctx, "") }

// descend goes through the directory below, which is "" or ends with a separator. Directories that cannot be read have
// nothing to compare.
func (p *plainWalk) descend(ctx context.Context, below string) error {
	entries, _ := os.ReadDir(p.dir + string(os.PathSeparator) + below)
	for _, entry := range entries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		path := below + entry.Name()
		if entry.IsDir() {
			if err := p.descend(ctx, path+string(os.PathSeparator)); err != nil {
				return err
			}
			continue
		}
		if err := p.visit(ctx, path, entry); err != nil {
			return err
		}
	}
	return nil
}

func (p *plainWalk) visit(ctx context.Context, path string, entry fs.DirEntry) error {
	if !entry.Type().IsRegular() {
		return nil
	}
	info, err := entry.Info()
	if err != nil || p.skip(info) {
		return nil
	}
	p.listed[path] = info
	p.found[path], err = plainRead(ctx, p.dir+string(os.PathSeparator)+path)
	p.visited()
	return err
}

// plainRead measures one file. An error means that ctx ended.
func plainRead(ctx context.Context, path string) (measurement, error) {
	f, err := openRegular(path)
	if err != nil {
		problem, _ := problemOf(err)
		return measurement{Problem: problem}, nil
	}
	defer f.Close()
	sum := sha256.New()
	m, err := plainCount(ctx, io.TeeReader(f, sum))
	if ctx.Err() != nil {
		return measurement{}, context.Cause(ctx)
	}
	if err != nil {
		problem, _ := problemOf(err)
		return measurement{Problem: problem}, nil
	}
	m.SHA256 = fmt.Sprintf("%x", sum.Sum(nil))
	return m, nil
}

// plainCount reads character by character.
func plainCount(ctx context.Context, from io.Reader) (measurement, error) {
	const look = 1 << 20
	var m measurement
	before := ' '
	in := bufio.NewReaderSize(from, 1<<16)
	for n := 0; ; n++ {
		if n%look == 0 && ctx.Err() != nil {
			return m, ctx.Err()
		}
		char, width, err := in.ReadRune()
		if errors.Is(err, io.EOF) {
			return m, nil
		}
		if err != nil {
			return m, err
		}
		m.Size += int64(width)
		if char == '\n' {
			m.Lines++
		}
		if unicode.IsSpace(before) && !unicode.IsSpace(char) {
			m.Words++
		}
		before = char
	}
}
