package main

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// contents is the page that lists all others.
const contents = "docs/README.md"

// book is all pages of the repository.
type book struct {
	root    string
	pages   map[string]*page // by file, also those that are not of the site
	order   []string         // files of the site's pages, as docs/README.md lists them; it is the first
	parts   []part
	checked int // links
}

// part is a heading of docs/README.md, with the pages below it.
type part struct {
	Title string
	Pages []entry
}

// entry is a page in the menu, or a heading of one.
type entry struct{ File, Anchor, Title string }

// readBook reads all pages and the list of them.
func readBook(root string) (*book, error) {
	b := &book{root: root, pages: map[string]*page{}}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch base := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (base == "testdata" || strings.HasPrefix(base, ".") && name != root):
			return fs.SkipDir
		case path.Ext(base) != ".md":
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, name)
		b.pages[filepath.ToSlash(file)] = newPage(filepath.ToSlash(file), source)
		return err
	})
	if err != nil {
		return nil, err
	}
	if b.pages[contents] == nil {
		return nil, errors.New("there is no " + contents + ", which lists the pages")
	}
	b.list()
	return b, nil
}

// list reads the menu: each heading of the second level is a part, each link below it that is in a list is a page.
func (b *book) list() {
	first := b.pages[contents]
	b.order = []string{contents}
	for node := range first.nodes() {
		switch n := node.(type) {
		case *ast.Heading:
			if n.Level == 2 {
				b.parts = append(b.parts, part{Title: plain(n, first.source)})
			}
		case *ast.Link:
			file, anchor, inside := target(contents, string(n.Destination))
			if !inside || !inList(n) || len(b.parts) == 0 || path.Ext(file) != ".md" {
				continue
			}
			last := &b.parts[len(b.parts)-1]
			last.Pages = append(last.Pages, entry{file, anchor, plain(n, first.source)})
			if anchor == "" {
				b.order = append(b.order, file)
			}
		}
	}
}

func inList(node ast.Node) bool {
	for n := node.Parent(); n != nil; n = n.Parent() {
		if n.Kind() == ast.KindListItem {
			return true
		}
	}
	return false
}

// target is what a link on a page leads to: a file, from the root of the repository on, and an anchor. It is not inside
// where it leads to another site.
func target(from, link string) (file, anchor string, inside bool) {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
		return "", "", false
	}
	file, anchor, _ = strings.Cut(link, "#")
	if file == "" {
		return from, anchor, true
	}
	return path.Join(path.Dir(from), file), anchor, true
}
