package main

import (
	"bytes"
	_ "embed"
	"html/template"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// repository is where links lead whose target is no page of the site.
const repository = "https://" + module

var (
	//go:embed page.html
	pageText string
	//go:embed style.css
	style []byte

	layout = template.Must(template.New("page").Parse(pageText))
)

// shown is what the template of a page gets.
type shown struct {
	Title, Root    string // Root leads from the page to the first one's folder
	Body           template.HTML
	Parts          []shownPart
	Sections       []section
	Previous, Next *shownLink
	First          bool // the page is the list of all
}

type shownPart struct {
	Title string
	Links []shownLink
}

type shownLink struct {
	To, Title string
	Here      bool
}

// write makes the site in a folder. What was there before and is not part of it stays.
func (b *book) write(out string) error {
	for i, file := range b.order {
		body, err := b.pages[file].html(func(link string) string { return b.turn(file, link) })
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := layout.Execute(&text, b.shown(i, body)); err != nil {
			return err
		}
		if err := put(out, htmlName(file), text.Bytes()); err != nil {
			return err
		}
	}
	if err := put(out, "style.css", style); err != nil {
		return err
	}
	return b.copyFiles(out)
}

// shown is the i-th page for the template.
func (b *book) shown(i int, body []byte) shown {
	p := b.pages[b.order[i]]
	s := shown{Title: p.title, Root: rootOf(p.file), Body: template.HTML(body), Sections: p.sections,
		First: i == 0}
	var all []*shownLink
	for _, part := range b.parts {
		links := make([]shownLink, len(part.Pages))
		for j, e := range part.Pages {
			links[j] = shownLink{To: rootOf(p.file) + htmlName(e.File), Title: e.Title}
			if e.Anchor != "" {
				links[j].To += "#" + e.Anchor
				continue
			}
			links[j].Here = e.File == p.file
			all = append(all, &links[j])
		}
		if len(links) > 0 {
			s.Parts = append(s.Parts, shownPart{part.Title, links})
		}
	}
	if i > 1 {
		s.Previous = all[i-2]
	}
	if i < len(all) {
		s.Next = all[i]
	}
	return s
}

// rootOf leads from the folder of a page to that of the first one: "", or "../" as often as needed.
func rootOf(file string) string {
	return strings.Repeat("../", strings.Count(htmlName(file), "/"))
}

// turn is a link of a page as the site has it: to another page, to a file that is copied, to a place in the repository,
// or to another site.
func (b *book) turn(from, link string) string {
	file, anchor, inside := target(from, link)
	if !inside {
		return link
	}
	if anchor != "" {
		anchor = "#" + anchor
	}
	switch {
	case slices.Contains(b.order, file):
		return rootOf(from) + htmlName(file) + anchor
	case strings.HasPrefix(file, "docs/") && path.Ext(file) != "":
		return rootOf(from) + strings.TrimPrefix(file, "docs/")
	}
	return repository + "/blob/main/" + file + anchor
}

// copyFiles copies what is in docs/ beside pages, such as pictures.
func (b *book) copyFiles(out string) error {
	docs := filepath.Join(b.root, "docs")
	return filepath.WalkDir(docs, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) == ".md" {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(docs, name)
		if err != nil {
			return err
		}
		return put(out, filepath.ToSlash(rel), content)
	})
}

func put(out, name string, content []byte) error {
	file := filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}
