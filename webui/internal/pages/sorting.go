package pages

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/265d0351/work/webui/internal/visit"
)

// column is one of a table, by which it can be sorted where it has a link.
type column struct {
	Title, Hint string
	Number      bool
	Link        string // sorts by it, or the other way round
	Sorted      string // "ascending", "descending" or ""
}

// sortable is a column of a table of T.
type sortable[T any] struct {
	key, title, hint string
	number           bool // it stands to the right
	down             bool // the largest, or the newest, come first
	compare          func(a, b *T) int
}

// sorting is the columns of a table by their keys.
type sorting map[string]column

// Links are those columns that sort, in the order of their titles: where a phone has no heads of columns.
func (s sorting) Links() []column {
	links := slices.Collect(maps.Values(s))
	slices.SortFunc(links, func(a, b column) int { return strings.Compare(a.Title, b.Title) })
	return links
}

// sortBy sorts rows by the column that the query names, in place, and returns the columns with their links. What the
// query does not know leaves the order as it is.
func sortBy[T any](v *visit.Visit, rows []T, columns []sortable[T]) sorting {
	key, down := strings.CutPrefix(v.Query.Get("sort"), "-")
	all := sorting{}
	for _, c := range columns {
		first := ""
		if c.down {
			first = "-"
		}
		shown := column{Title: c.title, Hint: c.hint, Number: c.number, Link: sortLink(v, first+c.key)}
		if c.key == key {
			shown.Sorted, shown.Link = "ascending", sortLink(v, "-"+key)
			if down {
				shown.Sorted, shown.Link = "descending", sortLink(v, key)
			}
			slices.SortStableFunc(rows, func(a, b T) int {
				if down {
					return c.compare(&b, &a)
				}
				return c.compare(&a, &b)
			})
		}
		all[c.key] = shown
	}
	return all
}

// unsorted is the columns of a table that is not to be sorted.
func unsorted[T any](columns []sortable[T]) sorting {
	all := sorting{}
	for _, c := range columns {
		all[c.key] = column{Title: c.title, Hint: c.hint, Number: c.number}
	}
	return all
}

// sortLink is this page sorted in another way.
func sortLink(v *visit.Visit, by string) string {
	query := url.Values(maps.Clone(v.Query))
	query.Del("notice")
	query.Set("sort", by)
	return strings.TrimPrefix(v.Path, "/") + "?" + query.Encode()
}
