package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/unquoted"
)

// Decode reads a stored record. Its args are a part of b, byte for byte; b must not change as long as they live.
// The error says what is wrong with the record.
func Decode(b []byte) (Record, error) { return DecodeKnown(b, "", "") }

// DecodeKnown is Decode for who knows which id and name the record should have: these strings are used for
// it where they are right.
func DecodeKnown(b []byte, id, name string) (Record, error) {
	if r, ok := decodePlainRecord(b, id, name); ok {
		return r, nil
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, describeRecordError(err)
	}
	if args := bytes.TrimLeft(r.Args, " \t\r\n"); (len(args) == 0 || args[0] != '[') && !codec.Is(args) {
		return Record{}, fmt.Errorf("the record's args are %s: they must be a JSON array, for instance [1,\"a\"]",
			rawjson.Kind(args))
	}
	return r, nil
}

// describeRecordError quotes nothing of the record: its args are in there.
func describeRecordError(err error) error {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) && wrongType.Field == "" {
		return fmt.Errorf("the record is not a JSON object such as "+
			"{\"jid\":\"1\",\"name\":\"a\",\"args\":[],\"t\":0}: %w", unquoted.Error(err))
	}
	return fmt.Errorf("the record cannot be read: %w", unquoted.Error(err))
}

// decodePlainRecord reads what Append writes for nearly all jobs: the fields in their order, without spaces and
// escapes. It says false for everything else, right or wrong, which is then left to encoding/json.
func decodePlainRecord(b []byte, id, name string) (Record, bool) {
	s := rawjson.NewScanner(b)
	r := Record{}
	r.ID = s.Known(`{"jid":"`, id)
	r.Name = s.Known(`,"name":"`, name)
	r.Args = s.Array(`,"args":`)
	r.EnqueuedAt = s.Number(`,"t":`)
	if s.Has(`}`) { // that was all, of most jobs
		return r, s.Done()
	}
	r.Source = s.Optional(`,"source":`)
	if s.Has(`,"retries":`) {
		retries := int(s.Digits())
		r.Retries = &retries
	}
	r.Timeout = s.Optional(`,"timeout":`)
	r.Retention = s.Optional(`,"retention":`)
	r.RunAt = s.Optional(`,"at":`)
	if s.Has(`,"meta":{`) {
		r.Meta = s.Texts()
	}
	if s.Has(`,"parent":`) {
		r.Parent = s.Text(`"`)
	}
	return r, s.Has(`}`) && s.Done()
}
