package pages

import (
	"bytes"
	"regexp"

	"github.com/265d0351/work/internal/visible"
)

// execute fills in a template, and makes visible what a browser would obey or hide in the texts that come from jobs:
// once for all that a page shows, so that no template can forget it. Addresses and fields of forms stay as they are,
// since they come back: only what is between tags changes, and titles.
func execute(into *bytes.Buffer, name, part string, data any) error {
	var made bytes.Buffer
	if err := pages[name].ExecuteTemplate(&made, part, data); err != nil {
		return err
	}
	html := made.Bytes()
	for len(html) > 0 {
		start := bytes.IndexByte(html, '<') // no value has one: templates escape them
		if start < 0 {
			start = len(html)
		}
		into.WriteString(visible.Except(string(html[:start]), "\n\t"))
		html = html[start:]
		end := endOfTag(html)
		into.Write(titles.ReplaceAllFunc(html[:end], func(title []byte) []byte {
			return []byte(visible.Except(string(title), "\n\t"))
		}))
		html = html[end:]
	}
	return nil
}

// titles are the attributes that a browser shows.
var titles = regexp.MustCompile(` (?:title|aria-label)="[^"]*"`)

// raw are the elements whose text is no text of the page.
var raw = [...]string{"textarea", "script", "style"}

// endOfTag is where the tag ends that html begins with; of one whose content is not to be changed, where that ends.
func endOfTag(html []byte) int {
	for _, element := range raw {
		if bytes.HasPrefix(html, []byte("<"+element)) {
			if end := bytes.Index(html, []byte("</"+element+">")); end >= 0 {
				return end
			}
		}
	}
	if end := bytes.IndexByte(html, '>'); end >= 0 {
		return end + 1
	}
	return len(html)
}
