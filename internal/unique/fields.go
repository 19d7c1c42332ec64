package unique

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
)

// tagKey is the key of the tags that this package reads, tagged the only value that they may have.
const (
	tagKey = "work"
	tagged = "unique"
)

// fieldsIn are the names that the fields with the tag `work:"unique"` have in the JSON of t, a struct or a pointer to
// one; none where there are no such fields. They are sorted, so that a program may move its fields. Tags count in the
// struct itself and in what it embeds, not deeper.
func fieldsIn(t reflect.Type) ([]string, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil, nil
	}
	all, err := membersOf(t, nil)
	if err != nil {
		return nil, err
	}
	names, err := taggedIn(all)
	if err == nil && len(names) > 0 && encodesItself(t) {
		return nil, &invalid.Error{What: "type " + t.String(), Value: "tagged although it encodes itself",
			Remedy: "make the key of its values by a function, with work.KeyOf"}
	}
	return names, err
}

// encodesItself tells that nobody knows which fields the JSON of a type has.
func encodesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(reflect.TypeFor[json.Marshaler]()) ||
		pointer.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// member is a field that may be one of the JSON.
type member struct {
	name  string // in the JSON
	named bool   // by a tag
	depth int    // in how many embedded structs it is
	in    reflect.Type
	field reflect.StructField
	tag   bool // it counts
}

// membersOf walks a struct as encoding/json does. outer are the structs that it is embedded in, which it may embed in
// turn.
func membersOf(t reflect.Type, outer []reflect.Type) (all []member, err error) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, inner := nameOf(&field), field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		embeds := field.Anonymous && name == "" && inner.Kind() == reflect.Struct
		counts, err := isTagged(t, &field, embeds)
		switch {
		case err != nil:
			return nil, err
		case embeds && inner != t && !slices.Contains(outer, inner):
			promoted, err := membersOf(inner, append(slices.Clip(outer), t))
			if err != nil {
				return nil, err
			}
			all = append(all, promoted...)
		case !embeds && isEncoded(&field):
			all = append(all, member{name: cmp.Or(name, field.Name), named: name != "", depth: len(outer), in: t,
				field: field, tag: counts})
		}
	}
	return all, nil
}

// nameOf is the name that a field has by its tag; empty where it has none, or one that encoding/json does not take.
func nameOf(field *reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if strings.ContainsFunc(name, func(c rune) bool {
		return !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		return ""
	}
	return name
}

func isEncoded(field *reflect.StructField) bool {
	return field.IsExported() && field.Tag.Get("json") != "-"
}

// taggedIn are the names of those that count, sorted. Of fields with the same name encoding/json takes the one in the
// fewest embedded structs, then the one that is named by a tag, and otherwise none. The error tells of one that counts
// and is not taken: what it holds would make no difference.
func taggedIn(all []member) (names []string, err error) {
	slices.SortStableFunc(all, func(a, b member) int { return cmp.Or(cmp.Compare(a.name, b.name), rank(a, b)) })
	for len(all) > 0 {
		same := slices.IndexFunc(all, func(m member) bool { return m.name != all[0].name })
		if same < 0 {
			same = len(all)
		}
		taken := same == 1 || rank(all[0], all[1]) < 0
		if at := slices.IndexFunc(all[:same], func(m member) bool { return m.tag }); taken && all[0].tag {
			names = append(names, all[0].name)
		} else if at >= 0 {
			return nil, all[at].refuse("tagged as unique, but another field has its name in the JSON",
				"tag that one, or give them different names")
		}
		all = all[same:]
	}
	return names, nil
}

// rank is below zero if encoding/json takes a rather than b, which has the same name.
func rank(a, b member) int {
	switch byDepth := cmp.Compare(a.depth, b.depth); {
	case byDepth != 0 || a.named == b.named:
		return byDepth
	case a.named:
		return -1
	}
	return 1
}

// isTagged tells whether a field counts. The error says why a tag cannot be meant.
func isTagged(t reflect.Type, field *reflect.StructField, embeds bool) (bool, error) {
	tag, given := field.Tag.Lookup(tagKey)
	if !given {
		return false, nil
	}
	refuse := member{in: t, field: *field}.refuse
	switch {
	case tag != tagged:
		return false, refuse("tagged work:"+excerpt.Brief(tag), `use work:"unique", or leave the tag out`)
	case embeds:
		return false, refuse("tagged as unique, and embedded", "tag the fields of the embedded struct")
	case !isEncoded(field):
		return false, refuse("tagged as unique, but not in the JSON", "tag a field that is exported and encoded")
	}
	return true, nil
}

func (m member) refuse(value, remedy string) error {
	return &invalid.Error{What: fmt.Sprintf("field %s of %s", m.field.Name, m.in), Value: value, Remedy: remedy}
}
