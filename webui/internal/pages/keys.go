package pages

import (
	"fmt"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
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
	Queue string
	Rows  []keyRow
	Act   bool // there are forms
}

func newKeyTable(queue string, keys []inspect.KeyInfo) keyTable {
	noisiest := 0
	for _, key := range keys {
		noisiest = max(noisiest, key.Waiting)
	}
	t := keyTable{Queue: queue}
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

func (s *Site) showKeys(v *visit.Visit) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	cursor := v.Query.Get("cursor")
	read, err := v.Inspector.Keys(v.Ctx(), inspect.KeysOptions{Name: name, Cursor: cursor})
	if err != nil {
		return err
	}
	body := keysBody{Page: read, Table: newKeyTable(name, read.Keys)}
	if read.Next != "" {
		body.Next = format.Link("keys", "name", name, "cursor", read.Next)
	}
	if cursor != "" {
		body.First = format.Link("keys", "name", name)
	}
	body.Table.Act = v.MayAct
	return s.show(v, "keys", page{Title: "Keys of " + format.Shorten(name, 60), Nav: "/queues", Body: body})
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
