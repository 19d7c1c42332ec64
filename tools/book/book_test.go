package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const repositoryRoot = "../.."

// TestEveryLinkLeadsSomewhere is the check of this repository.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	b, err := readBook(repositoryRoot)
	require.NoError(t, err)
	assert.Empty(t, b.check())
	assert.Greater(t, b.checked, 250)
}

// small makes a repository of these files.
func small(t *testing.T, files map[string]string) *book {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		require.NoError(t, put(root, name, []byte(text)))
	}
	b, err := readBook(root)
	require.NoError(t, err)
	return b
}

func TestWhatIsWrongWithLinks(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"[a](other.md)":                        "",
		"[a](other.md#two-words)":              "",
		"[a](other.md#two-words-1)":            "",
		"[a](#page)":                           "",
		"[a](../main.go)":                      "",
		"[a](sub/deep.md)":                     "",
		"[a](https://example.org/x#y)":         "",
		"![words for it](p.png)":               "",
		"[a]: x\n\n[a][ref]\n\n[ref]: gone.md": "there is no such file",
		"[a](gone.md)":                         "there is no such file",
		"[a](other.md#gone)":                   "other.md has no heading #gone",
		"[a](#gone)":                           "page.md has no heading #gone",
		"[a](../main.go#L3)":                   "an anchor in what is no page",
		"[a](../../x.md)":                      "leads out of the repository",
		"[a](ftp://example.org)":               "not an address of the web",
		"![](p.png)":                           "a picture without words",
		"![words for it](q.png)":               "there is no such file",
		"[a](" + reference + "#Thing)":         "",
		"[a](" + reference + "#Thing.Do)":      "",
		"[a](" + reference + "#Gone)":          "the package has no such name",
		"[a](" + reference + "/sub#Thing)":     "the package has no such name",
		"`[a](gone.md)`":                       "",
	} {
		t.Run(link, func(t *testing.T) {
			t.Parallel()
			b := small(t, map[string]string{
				contents:           "# All\n\n## Part\n\n- [a](page.md)\n- [b](other.md)\n- [c](sub/deep.md)\n",
				"docs/page.md":     "# Page\n\n" + link + "\n",
				"docs/other.md":    "# Other\n\n## Two `words`!\n\n## Two words\n",
				"docs/sub/deep.md": "# Deep\n\n[up](../page.md)\n",
				"docs/p.png":       "x",
				"main.go":          "package small\n\ntype Thing int\n\nfunc (Thing) Do() {}\n",
			})
			got := strings.Join(b.check(), "\n")
			if want == "" {
				assert.Empty(t, got)
			} else {
				assert.Contains(t, got, want)
			}
		})
	}
}

func TestEveryPageIsListedOnce(t *testing.T) {
	t.Parallel()
	b := small(t, map[string]string{
		contents:           "# All\n\n## Part\n\n- [a](page.md)\n- [again](page.md)\n",
		"docs/page.md":     "# Page\n",
		"docs/unlisted.md": "# Unlisted\n",
		"docs/none.md":     "no heading\n",
	})
	got := strings.Join(b.check(), "\n")
	assert.Contains(t, got, "docs/unlisted.md: not listed")
	assert.Contains(t, got, "lists docs/page.md twice")
	assert.Contains(t, got, "docs/none.md: a page without a heading")
}

// TestTheSite makes it of this repository: each link of it leads to a file of it or to another site, each anchor is
// there, and no page asks anybody else for anything.
func TestTheSite(t *testing.T) {
	t.Parallel()
	b, err := readBook(repositoryRoot)
	require.NoError(t, err)
	out := t.TempDir()
	require.NoError(t, b.write(out))
	loads := regexp.MustCompile(`(?i)<(?:script|link|img|iframe|source|object)\b[^>]*`)
	links := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	checked := 0
	for _, file := range b.order {
		name := filepath.Join(out, htmlName(file))
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		for _, tag := range loads.FindAllString(string(text), -1) {
			assert.NotContains(t, tag, "://", "%s loads from elsewhere", file)
			assert.NotContains(t, strings.ToLower(tag), "<script", "%s", file)
		}
		for _, link := range links.FindAllStringSubmatch(string(text), -1) {
			checked++
			to, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(to, "://") {
				continue
			}
			at := name
			if to != "" {
				at = filepath.Join(filepath.Dir(name), filepath.FromSlash(to))
			}
			target, err := os.ReadFile(at)
			if assert.NoError(t, err, "%s: %s", file, link[1]) && anchor != "" {
				assert.True(t, bytes.Contains(target, fmt.Appendf(nil, "id=%q", anchor)), "%s: %s", file, link[1])
			}
		}
	}
	assert.Greater(t, checked, 1000)
	css, err := os.ReadFile(filepath.Join(out, "style.css"))
	require.NoError(t, err)
	assert.NotContains(t, string(css), "url(")
	assert.NotContains(t, string(css), "@import")
}

// TestAWebServerMayReadTheSite: it has a user of its own as a rule.
func TestAWebServerMayReadTheSite(t *testing.T) {
	t.Parallel()
	readable := func(name string) os.FileMode {
		info, err := os.Stat(name)
		require.NoError(t, err)
		return info.Mode().Perm() & 0o044
	}
	dir := t.TempDir()
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, nil, 0o644)) // as far as the umask lets it
	require.NoError(t, put(dir, "a/page.html", nil))
	assert.Equal(t, readable(other), readable(filepath.Join(dir, "a", "page.html")))
}

func TestAWayThroughTheBook(t *testing.T) {
	t.Parallel()
	b := small(t, map[string]string{
		contents: "# All\n\n## Part\n\n- [One](one.md)\n- [A](sub/three.md#a)\n- [Two](two.md)\n\n## More\n\n" +
			"- [Three](sub/three.md)\n",
		"docs/one.md": "# 1\n", "docs/two.md": "# 2\n",
		"docs/sub/three.md": "# 3\n\n## A\n",
	})
	require.Empty(t, b.check())
	first, two, last := b.shown(0, nil), b.shown(2, nil), b.shown(3, nil)
	assert.Nil(t, first.Previous)
	assert.Equal(t, "one.html", first.Next.To)
	assert.Equal(t, []string{"One", "Three"}, []string{two.Previous.Title, two.Next.Title})
	assert.Equal(t, "../two.html", last.Previous.To)
	assert.Nil(t, last.Next)
	assert.Equal(t, []section{{"a", "A"}}, last.Sections)
	assert.True(t, last.Parts[1].Links[0].Here)
	assert.Equal(t, shownLink{To: "../sub/three.html#a", Title: "A"}, last.Parts[0].Links[1], "no page of its own")
}

// TestPicturesAreThoseOfTheirTexts: whoever changes a text runs -draw.
func TestPicturesAreThoseOfTheirTexts(t *testing.T) {
	t.Parallel()
	require.NoError(t, eachDrawing(repositoryRoot, func(file string, picture []byte) error {
		drawn, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(picture), string(drawn), "run: go run ./tools/book -draw")
		return nil
	}))
}

func TestADrawing(t *testing.T) {
	t.Parallel()
	d, err := readDrawing("# words\ntitle a & b\nbox a 0 0 One / two\nround b 1 0 <End>\nnote 0 1 said\n" +
		"arrow a b goes\narrow~ b a\n")
	require.NoError(t, err)
	svg := string(d.svg())
	for _, part := range []string{"<title>a &amp; b</title>", "&lt;End&gt;", ">two</text>", `rx="25"`,
		"stroke-dasharray", "prefers-color-scheme: dark", ">goes</text>"} {
		assert.Contains(t, svg, part)
	}
	for text, want := range map[string]string{
		"":                                "a title and a box",
		"title t\ncircle a":               "line 2: unknown: circle",
		"title t\nbox a 0 0":              "line 2: a box has an id",
		"title t\nbox a x 0 A":            "line 2:",
		"title t\nbox a 0 y A":            "line 2:",
		"title t\nnote 0 0":               "line 2: a note has",
		"title t\narrow a":                "line 2: an arrow has",
		"title t\nbox a 0 0 A\narrow a b": "line 3: there is no box a or b",
	} {
		_, err := readDrawing(text)
		assert.ErrorContains(t, err, want)
	}
}
