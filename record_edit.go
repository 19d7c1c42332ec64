package work

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// withArgs returns the record with other args. All else stays byte for byte, also what this version does not know, but
// for the references to objects that stood for some of the old args: they go.
func withArgs(raw, args []byte) ([]byte, error) {
	members, err := membersOf(raw)
	if err != nil {
		return nil, describeRecordError(err)
	}
	at := -1 // of the args: the last ones count where there are several
	for i, m := range members {
		if strings.EqualFold(m.name, "args") {
			at = i
		}
	}
	if at < 0 {
		return nil, errors.New("the record has no args")
	}
	edited := make([]byte, 0, len(raw)+len(args))
	from := 0
	for i, m := range members {
		switch {
		case i == at:
			edited, from = append(append(edited, raw[from:m.value]...), args...), m.end
		case strings.EqualFold(m.name, "objects") && i > 0:
			edited, from = append(edited, raw[from:members[i-1].end]...), m.end
		case strings.EqualFold(m.name, "objects"):
			return nil, errors.New("the record begins with its objects, which this version never writes")
		}
	}
	edited = append(edited, raw[from:]...)
	if rec, err := decodeRecord(edited); err != nil || !bytes.Equal(rec.Args, args) || len(rec.Objects) > 0 {
		return nil, errors.New("the record is not as this version writes it, and cannot be edited")
	}
	return edited, nil
}

// member is one of a JSON object: where its value begins, and where it ends.
type member struct {
	name       string
	value, end int
}

func membersOf(object []byte) ([]member, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if token, err := decoder.Token(); err != nil {
		return nil, err
	} else if token != json.Delim('{') {
		return nil, &json.UnmarshalTypeError{Value: "value"}
	}
	var members []member
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
		members = append(members, member{name: name, value: end - len(value), end: end})
	}
	_, err := decoder.Token() // the closing brace
	return members, err
}
