package pages

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/columns"
	"github.com/265d0351/work/webui/internal/format"
	"github.com/265d0351/work/webui/internal/visit"
)

// noisyKeys is how many keys stand on the page of a queue.
const noisyKeys = 5

// keyRow is a key with what is reckoned from it.
type keyRow struct {
	inspect.KeyInfo
	Gauge int // what waits, in percent of the noisiest on the page
}

// Limited tells whether there is anything to say of its limit.
func (r keyRow) Limited() bool { return r.Limit != work.Limit{} }

// Part is the part of what runs that is the key's, in percent.
func (r keyRow) Part() string {
	if r.Share > 0 && r.Share < 0.01 {
		return "<1"
	}
	return fmt.Sprintf("%.0f", 100*r.Share)
}

// keyTable is keys of a queue.
type keyTable struct {
	Queue   string
	Rows    []keyRow
	Columns columns.Heads
	Act     bool // there are forms
}

// keyColumns are those by which the keys of a page can be sorted: pages have the noisiest first.
var keyColumns = []columns.Column[keyRow]{
	columns.Text("key", "Key", func(r *keyRow) string { return r.Key }),
	columns.Number("waiting", "Waiting", func(r *keyRow) int { return r.Waiting }),
	columns.Number("parked", "Parked", func(r *keyRow) int { return r.Parked }).
		Says("may not begin: the key has no room for them"),
	columns.Number("running", "Running", func(r *keyRow) int { return r.Running }).
		Says("jobs that run, or have a place of the key"),
	columns.Number("share", "Share", func(r *keyRow) float64 { return r.Share }).
		Says("of all jobs with a key that run now"),
	columns.Number("weight", "Weight", func(r *keyRow) int { return r.Weight }).Says("turns where others have one"),
}

func newKeyTable(queue string, keys []inspect.KeyInfo) keyTable {
	noisiest := 0
	for _, key := range keys {
		noisiest = max(noisiest, key.Waiting)
	}
	t := keyTable{Queue: queue, Columns: columns.Plain(keyColumns)}
	for _, key := range keys {
		t.Rows = append(t.Rows, keyRow{key, format.Percent(key.Waiting, noisiest)})
	}
	return t
}

// keysBody is a page of the keys of a queue.
type keysBody struct {
	Page  inspect.KeyPage
	Table keyTable
	First string // the page's beginning, "" where this is it
	Next  string
}

// keyedColumns are those by which queues with keys can be sorted.
var keyedColumns = []columns.Column[inspect.QueueInfo]{
	columns.Text("name", "Queue", func(r *inspect.QueueInfo) string { return r.Name }),
	columns.Number("keys", "Keys in line", func(r *inspect.QueueInfo) int { return r.Keys }).
		Says("about how many have jobs that wait for their turn"),
	columns.By("parked", "Parked", byParked).Right().Down().
		Says("jobs that may not begin: their keys have no room for them"),
	columns.Number("waiting", "Waiting", func(r *inspect.QueueInfo) int { return r.Waiting }).
		Says("with a key or without"),
	columns.Number("running", "Running", func(r *inspect.QueueInfo) int { return r.Running }),
}

func byParked(a, b *inspect.QueueInfo) int { return cmp.Compare(a.Parked, b.Parked) }

// showKeyed shows which queues have keys.
func (s *Site) showKeyed(v *visit.Visit) error {
	queues, err := v.Inspector.Queues(v.Ctx())
	if err != nil {
		return err
	}
	keyed := slices.DeleteFunc(slices.Clone(queues),
		func(q inspect.QueueInfo) bool { return q.Keys == 0 && q.Parked == 0 })
	slices.SortStableFunc(keyed, func(a, b inspect.QueueInfo) int { return byParked(&b, &a) })
	heads := columns.Sort(v, keyed, keyedColumns)
	return s.show(v, "keyed", page{Title: "Keys", Nav: "/keys", Body: struct {
		Rows    []inspect.QueueInfo
		Columns columns.Heads
	}{keyed, heads}})
}

// showKeys shows the keys of a queue; without a name the queues that have some.
func (s *Site) showKeys(v *visit.Visit) error {
	name := v.Query.Get("name")
	if name == "" {
		return s.showKeyed(v)
	}
	cursor := v.Query.Get("cursor")
	read, err := v.Inspector.Keys(v.Ctx(), inspect.KeysOptions{Name: name, Cursor: cursor})
	if err != nil {
		return err
	}
	body := keysBody{Page: read, Table: newKeyTable(name, read.Keys)}
	by := v.Query.Get("sort")
	if read.Next != "" {
		body.Next = format.Link("keys", "name", name, "sort", by, "cursor", read.Next)
	}
	if cursor != "" {
		body.First = format.Link("keys", "name", name, "sort", by)
	}
	body.Table.Act, body.Table.Columns = v.MayAct, columns.Sort(v, body.Table.Rows, keyColumns)
	return s.show(v, "keys", page{Title: "Keys of " + format.Shorten(name, 60), Nav: "/keys", Body: body})
}

func (s *Site) onKey(v *visit.Visit, done string, do func(name, key string) error) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	key, err := v.Target("key")
	if err != nil {
		return err
	}
	return s.finish(v, once{target: name, done: fmt.Sprintf("Key %q of queue %q %s.", format.Shorten(key, 60),
		format.Shorten(name, 60), done), back: format.Link("keys", "name", name)}, do(name, key))
}

func (s *Site) setKeyLimit(v *visit.Visit) error {
	return s.onKey(v, "has a limit of its own", func(name, key string) error {
		limit, err := limitOf(v)
		if err == nil {
			err = v.KnownName(name)
		}
		if err != nil {
			return err
		}
		return v.Inspector.SetKeyLimit(v.Ctx(), name, key, limit)
	})
}

func (s *Site) stopKey(v *visit.Visit) error {
	return s.onKey(v, "is stopped: what runs goes on", func(name, key string) error {
		if err := v.KnownName(name); err != nil {
			return err
		}
		return v.Inspector.StopKey(v.Ctx(), name, key)
	})
}

func (s *Site) resetKeyLimit(v *visit.Visit) error {
	return s.onKey(v, "is as all other keys again",
		func(name, key string) error { return v.Inspector.ResetKeyLimit(v.Ctx(), name, key) })
}
