package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/265d0351/work/internal/rawjson"
)

// Again returns the record of a job that does what a former one did, enqueued now (ms). All else stays byte for byte,
// also what this version does not know, but for what was true of the former one only: when it was due, and when it
// expired or had to end where that has passed.
func Again(raw []byte, id string, now int64) ([]byte, error) {
	former, err := Decode(raw)
	if err != nil {
		return nil, err
	}
	edited := raw
	for _, set := range []struct {
		field string
		value []byte
	}{
		{"jid", rawjson.AppendString(nil, id)}, {"t", strconv.AppendInt(nil, now, 10)},
		{"again_of", rawjson.AppendString(nil, former.ID)},
	} {
		if edited, err = rawjson.Set(edited, set.field, set.value); err != nil {
			return nil, describeRecordError(err)
		}
	}
	passed := map[string]bool{"at": true, "expires": former.Expires <= now, "deadline": former.Deadline <= now}
	if edited, err = without(edited, passed); err != nil {
		return nil, err
	}
	is, err := Decode(edited)
	if err != nil || is.ID != id || is.EnqueuedAt != now || is.RunAt != 0 || is.Name != former.Name ||
		is.AgainOf != former.ID || !bytes.Equal(is.Args, former.Args) {
		return nil, errors.New("the record is not as this version writes it, and cannot be edited")
	}
	return edited, nil
}

// without leaves out members of an object.
func without(object []byte, fields map[string]bool) ([]byte, error) {
	members, err := rawjson.Members(object)
	if err != nil {
		return nil, describeRecordError(err)
	}
	rest, from := make([]byte, 0, len(object)), 0
	for i, m := range members {
		if !fields[m.Name] {
			continue
		}
		if i == 0 {
			return nil, errors.New("the record begins with a field that this version never writes there")
		}
		rest = append(rest, object[from:members[i-1].End]...)
		from = m.End
	}
	if rest = append(rest, object[from:]...); !json.Valid(rest) {
		return nil, errors.New("the record cannot be edited")
	}
	return rest, nil
}
