package filetree

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

// PlainWalk measures every file below dir again, one after the other, without jobs. It is what the results of the jobs
// are compared with, so it shares as little code with them as can be: its own recursion, its own reading and counting.
type PlainWalk struct {
	dir    string
	skip   func(fs.FileInfo) bool
	Found  map[string]Measurement // by path relative to dir
	Listed map[string]fs.FileInfo

	Visited func() // is called after each file
}

// NewPlainWalk prepares a walk of dir. What skip accepts is left out.
func NewPlainWalk(dir string, skip func(fs.FileInfo) bool) *PlainWalk {
	return &PlainWalk{dir: dir, skip: skip, Found: map[string]Measurement{}, Listed: map[string]fs.FileInfo{},
		Visited: func() {}}
}

// Run fills found and listed.
func (p *PlainWalk) Run(ctx context.Context) error { return p.descend(ctx, "") }

// descend goes through the directory below, which is "" or ends with a separator. Directories that cannot be read have
// nothing to compare.
func (p *PlainWalk) descend(ctx context.Context, below string) error {
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

func (p *PlainWalk) visit(ctx context.Context, path string, entry fs.DirEntry) error {
	if !entry.Type().IsRegular() {
		return nil
	}
	info, err := entry.Info()
	if err != nil || p.skip(info) {
		return nil
	}
	p.Listed[path] = info
	p.Found[path], err = plainRead(ctx, p.dir+string(os.PathSeparator)+path)
	p.Visited()
	return err
}

// plainRead measures one file. An error means that ctx ended.
func plainRead(ctx context.Context, path string) (Measurement, error) {
	f, err := OpenRegular(path)
	if err != nil {
		problem, _ := ProblemOf(err)
		return Measurement{Problem: problem}, nil
	}
	defer f.Close()
	sum := sha256.New()
	m, err := plainCount(ctx, io.TeeReader(f, sum))
	if ctx.Err() != nil {
		return Measurement{}, context.Cause(ctx)
	}
	if err != nil {
		problem, _ := ProblemOf(err)
		return Measurement{Problem: problem}, nil
	}
	m.SHA256 = fmt.Sprintf("%x", sum.Sum(nil))
	return m, nil
}

// plainCount reads character by character.
func plainCount(ctx context.Context, from io.Reader) (Measurement, error) {
	const pace = 1 << 20
	var m Measurement
	before := ' '
	in := bufio.NewReaderSize(from, 1<<16)
	for n := 0; ; n++ {
		if n%pace == 0 && ctx.Err() != nil {
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
