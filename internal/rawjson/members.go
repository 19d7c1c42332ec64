package rawjson

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Member is one of a JSON object: where its value begins, and where it ends.
type Member struct {
	Name       string
	Value, End int
}

// Is tells whether encoding/json takes the member for that field of a struct: it does not heed upper and lower case.
func (m Member) Is(field string) bool { return strings.EqualFold(m.Name, field) }

// Members finds the members of an object, in their order. Its errors are those of encoding/json, which quote.
func Members(object []byte) ([]Member, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if token, err := decoder.Token(); err != nil {
		return nil, err
	} else if token != json.Delim('{') {
		return nil, &json.UnmarshalTypeError{Value: "value"}
	}
	var members []Member
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string) // of an object's member it always is one
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		end := int(decoder.InputOffset())
		members = append(members, Member{Name: name, Value: end - len(value), End: end})
	}
	_, err := decoder.Token() // the closing brace
	return members, err
}

// Object hands each member of an object to a function, in their order, and tells whether it is one that was written
// simply, and the function took all of it. The names have no escapes, the values are what encoding/json takes as well.
func Object(b []byte, take func(name, value []byte) bool) bool {
	if len(b) < 2 || b[0] != '{' {
		return false
	}
	if b[1] == '}' {
		return len(b) == 2
	}
	for i := 1; ; i++ {
		if i >= len(b) || b[i] != '"' {
			return false
		}
		length := quoteEnd(b[i+1:])
		colon := i + 1 + length + 1
		if length < 0 || colon >= len(b) || b[colon] != ':' {
			return false
		}
		end := valueEnd(b, colon+1, 0)
		if end < 0 || end == len(b) || !take(b[i+1:colon-1], b[colon+1:end]) {
			return false
		}
		if i = end; b[i] != ',' {
			return b[i] == '}' && i == len(b)-1
		}
	}
}

// Whole tells whether b is one value that was written simply, and that encoding/json takes as well.
func Whole(b []byte) bool { return len(b) > 0 && valueEnd(b, 0, 0) == len(b) }

// Last is where among members the one is that counts for a field where there are several; -1 where there is none.
func Last(members []Member, field string) int {
	for i := len(members) - 1; i >= 0; i-- {
		if members[i].Is(field) {
			return i
		}
	}
	return -1
}

// Set puts a value into an object, in place of the one that is read for the field, or behind all others. All else stays
// byte for byte: other programs may have written fields that this one does not know.
func Set(object []byte, field string, value []byte) ([]byte, error) {
	members, err := Members(object)
	if err != nil {
		return nil, err
	}
	if at := Last(members, field); at >= 0 {
		return splice(object, members[at].Value, members[at].End, value), nil
	}
	from, comma := bytes.IndexByte(object, '{')+1, ""
	if n := len(members); n > 0 {
		from, comma = members[n-1].End, ","
	}
	return splice(object, from, from, append([]byte(comma+`"`+field+`":`), value...)), nil
}

// splice returns text with something else in place of a part.
func splice(text []byte, from, to int, with []byte) []byte {
	spliced := make([]byte, 0, len(text)+len(with))
	return append(append(append(spliced, text[:from]...), with...), text[to:]...)
}
