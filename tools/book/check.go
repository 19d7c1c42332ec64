package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// reference is where the documentation of a module's names is, which pages link to.
const reference = "https://pkg.go.dev/" + module

// check looks at each link of each page, and at the list of pages.
func (b *book) check() (complaints []string) {
	names := exportedNames{root: b.root}
	for _, file := range b.files() {
		p := b.pages[file]
		if p.title == "" {
			complaints = append(complaints, file+": a page without a heading")
		}
		for node := range p.nodes() {
			link, isImage := linkOf(node)
			if link == "" {
				continue
			}
			b.checked++
			wrong := b.wrong(file, link, &names)
			if isImage && len(plain(node, p.source)) < 5 {
				wrong = "a picture without words for those who do not see it"
			}
			if wrong != "" {
				complaints = append(complaints, fmt.Sprintf("%s: %s: %s", file, link, wrong))
			}
		}
		if strings.HasPrefix(file, "docs/") && !slices.Contains(b.order, file) {
			complaints = append(complaints, file+": not listed in "+contents)
		}
	}
	for i, file := range b.order {
		if slices.Contains(b.order[:i], file) {
			complaints = append(complaints, contents+": lists "+file+" twice")
		}
	}
	return complaints
}

func (b *book) files() (files []string) {
	for file := range b.pages {
		files = append(files, file)
	}
	slices.Sort(files)
	return files
}

// linkOf is where a node leads to, if it is a link or a picture.
func linkOf(node ast.Node) (link string, isImage bool) {
	switch n := node.(type) {
	case *ast.Link:
		return string(n.Destination), false
	case *ast.Image:
		return string(n.Destination), true
	}
	return "", false
}

// wrong is what is wrong with a link, empty if nothing is. What other sites have is not asked for.
func (b *book) wrong(from, link string, names *exportedNames) string {
	file, anchor, inside := target(from, link)
	if !inside {
		return wrongOutside(link, names)
	}
	if strings.HasPrefix(file, "../") {
		return "leads out of the repository"
	}
	if _, err := os.Stat(filepath.Join(b.root, filepath.FromSlash(file))); err != nil {
		return "there is no such file"
	}
	if anchor == "" {
		return ""
	}
	p := b.pages[file]
	if p == nil {
		return "an anchor in what is no page"
	}
	if !p.anchors[anchor] {
		return fmt.Sprintf("%s has no heading #%s", file, anchor)
	}
	return ""
}

// wrongOutside is what can be told about an address without asking for it: that it is one, and that a name of this
// module is there.
func wrongOutside(link string, names *exportedNames) string {
	at, err := url.Parse(link)
	switch {
	case err != nil:
		return err.Error()
	case at.Scheme != "https" && at.Scheme != "http" && at.Scheme != "mailto":
		return "not an address of the web"
	case !strings.HasPrefix(link, reference) || at.Fragment == "":
		return ""
	}
	dir := strings.Trim(strings.TrimPrefix(strings.TrimSuffix(link, "#"+at.Fragment), reference), "/")
	if !names.has(dir, at.Fragment) {
		return "the package has no such name"
	}
	return ""
}
