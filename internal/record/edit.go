package record

import (
	"bytes"
	"errors"

	"github.com/265d0351/work/internal/rawjson"
)

// WithArgs returns the record with other args. All else stays byte for byte, also what this version does not know, but
// for the references to objects that stood for some of the old args: they go.
func WithArgs(raw, args []byte) ([]byte, error) {
	members, err := rawjson.Members(raw)
	if err != nil {
		return nil, describeRecordError(err)
	}
	at := rawjson.Last(members, "args")
	if at < 0 {
		return nil, errors.New("the record has no args")
	}
	edited := make([]byte, 0, len(raw)+len(args))
	from := 0
	for i, m := range members {
		switch {
		case i == at:
			edited, from = append(append(edited, raw[from:m.Value]...), args...), m.End
		case m.Is("objects") && i > 0:
			edited, from = append(edited, raw[from:members[i-1].End]...), m.End
		case m.Is("objects"):
			return nil, errors.New("the record begins with its objects, which this version never writes")
		}
	}
	edited = append(edited, raw[from:]...)
	if rec, err := Decode(edited); err != nil || !bytes.Equal(rec.Args, args) || len(rec.Objects) > 0 {
		return nil, errors.New("the record is not as this version writes it, and cannot be edited")
	}
	return edited, nil
}
