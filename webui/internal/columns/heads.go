package columns

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/265d0351/work/webui/internal/visit"
)

// Head is the head of a column, by which the table can be sorted where it has a link.
type Head struct {
	Title, Hint string
	Number      bool
	Link        string // sorts by it, or the other way round
	Sorted      string // "ascending", "descending" or ""
	at          int    // which of the columns it is
}

// Heads are those of a table by the keys of its columns.
type Heads map[string]Head

// Table is rows with the heads of their columns.
type Table[T any] struct {
	Rows    []T
	Columns Heads
}

// Links are those columns that sort, in their order: where a phone has no heads of columns.
func (h Heads) Links() []Head {
	links := slices.Collect(maps.Values(h))
	slices.SortFunc(links, func(a, b Head) int { return cmp.Compare(a.at, b.at) })
	return links
}

// Sort sorts rows by the column that the query names, in place, and returns the heads with their links. What the query
// does not know leaves the order as it is.
func Sort[T any](v *visit.Visit, rows []T, columns []Column[T]) Heads {
	return SortPart(v, "", rows, columns)
}

// SortPart is Sort for a further table of a page: the query names its column by the id of that part, to which the links
// lead, so that each table keeps its order.
func SortPart[T any](v *visit.Visit, part string, rows []T, columns []Column[T]) Heads {
	key, down := strings.CutPrefix(v.Query.Get(cmp.Or(part, "sort")), "-")
	heads := Plain(columns)
	for _, c := range columns {
		head, first := heads[c.Key], ""
		if c.down {
			first = "-"
		}
		head.Link = linkBy(v, part, first+c.Key)
		if c.Key == key {
			head.Sorted, head.Link = "ascending", linkBy(v, part, "-"+key)
			if down {
				head.Sorted, head.Link = "descending", linkBy(v, part, key)
			}
			c.sort(rows, down)
		}
		heads[c.Key] = head
	}
	return heads
}

// sort keeps the order of rows that are equal.
func (c Column[T]) sort(rows []T, down bool) {
	slices.SortStableFunc(rows, func(a, b T) int {
		if down {
			return c.compare(&b, &a)
		}
		return c.compare(&a, &b)
	})
}

// Plain is the heads of a table that is not to be sorted.
func Plain[T any](columns []Column[T]) Heads {
	heads := Heads{}
	for n, c := range columns {
		heads[c.Key] = Head{Title: c.Title, Hint: c.hint, Number: c.number, at: n}
	}
	return heads
}

// linkBy is this page with a table sorted in another way.
func linkBy(v *visit.Visit, part, by string) string {
	query := url.Values(maps.Clone(v.Query))
	query.Del("notice")
	query.Set(cmp.Or(part, "sort"), by)
	link := strings.TrimPrefix(v.Path, "/") + "?" + query.Encode()
	if part != "" {
		link += "#" + part
	}
	return link
}
