package main

import (
	"bytes"
	"path"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown is how pages are read: as GitHub does, which is where most people see them first.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithRendererOptions(html.WithUnsafe(), renderer.WithNodeRenderers(util.Prioritized(tables{}, 100))),
)

// page is one Markdown file.
type page struct {
	file   string // from the root of the repository on, with slashes
	source []byte
	tree   ast.Node

	title    string // of its first heading
	sections []section
	anchors  map[string]bool
}

// section is a heading of the second level.
type section struct{ Anchor, Title string }

func newPage(file string, source []byte) *page {
	context := parser.NewContext(parser.WithIDs(&anchors{seen: map[string]int{}}))
	p := &page{file: file, source: source, anchors: map[string]bool{}}
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(context))
	for node := range p.nodes() {
		heading, is := node.(*ast.Heading)
		if !is {
			continue
		}
		words := plain(heading, source)
		anchor := string(context.IDs().Generate([]byte(words), ast.KindHeading))
		heading.SetAttributeString("id", []byte(anchor))
		p.anchors[anchor] = true
		switch {
		case p.title == "":
			p.title = words
		case heading.Level == 2:
			p.sections = append(p.sections, section{anchor, words})
		}
	}
	return p
}

// nodes are all of the page's tree, from above to below.
func (p *page) nodes() func(yield func(ast.Node) bool) {
	return func(yield func(ast.Node) bool) {
		_ = ast.Walk(p.tree, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
			if entering && !yield(node) {
				return ast.WalkStop, nil
			}
			return ast.WalkContinue, nil
		})
	}
}

// plain is the text of a node, without its marks.
func plain(node ast.Node, source []byte) string {
	var words strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch t := n.(type) {
		case *ast.Text:
			if entering {
				words.Write(t.Segment.Value(source))
			}
		case *ast.String:
			if entering {
				words.Write(t.Value)
			}
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

// anchors makes the anchors of headings as GitHub does: small letters, spaces become hyphens, signs go, and the second
// heading of the same words has a number.
type anchors struct{ seen map[string]int }

// Generate is for [parser.IDs].
func (a *anchors) Generate(value []byte, _ ast.NodeKind) []byte {
	var anchor strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(string(value))) {
		switch {
		case r == ' ':
			anchor.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			anchor.WriteRune(r)
		}
	}
	made := anchor.String()
	n := a.seen[made]
	a.seen[made]++
	if n > 0 {
		made += "-" + strconv.Itoa(n)
	}
	return []byte(made)
}

// Put is for [parser.IDs].
func (a *anchors) Put([]byte) {}

// html is the page as HTML, its links turned to where the site has what they lead to.
func (p *page) html(turn func(link string) string) ([]byte, error) {
	for node := range p.nodes() {
		switch n := node.(type) {
		case *ast.Link:
			n.Destination = []byte(turn(string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(turn(string(n.Destination)))
			n.SetAttributeString("loading", []byte("lazy"))
		}
	}
	var out bytes.Buffer
	err := markdown.Renderer().Render(&out, p.source, p.tree)
	return out.Bytes(), err
}

// htmlName is where the page is on the site, from docs/ on.
func htmlName(file string) string {
	name := strings.TrimPrefix(file, "docs/")
	if path.Base(name) == "README.md" {
		return path.Join(path.Dir(name), "index.html")
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}
