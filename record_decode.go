package work

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/265d0351/work/internal/unquoted"
)

// decodeRecord reads a stored record. Its args are a part of b, byte for byte; b must not change as long as they live.
// The error says what is wrong with the record.
func decodeRecord(b []byte) (record, error) { return decodeKnownRecord(b, "", "") }

// decodeKnownRecord is decodeRecord for who knows which id and name the record should have: these strings are used for
// it where they are right.
func decodeKnownRecord(b []byte, id, name string) (record, error) {
	if r, ok := decodePlainRecord(b, id, name); ok {
		return r, nil
	}
	var r record
	if err := json.Unmarshal(b, &r); err != nil {
		return record{}, describeRecordError(err)
	}
	if args := bytes.TrimLeft(r.Args, " \t\r\n"); len(args) == 0 || args[0] != '[' {
		return record{}, fmt.Errorf("the record's args are %s: they must be a JSON array, for instance [1,\"a\"]",
			kindOf(args))
	}
	return r, nil
}

// describeRecordError quotes nothing of the record: its args are in there.
func describeRecordError(err error) error {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) && wrongType.Field == "" {
		return fmt.Errorf("the record is not a JSON object such as {\"jid\":\"1\",\"name\":\"a\",\"args\":[],\"t\":0}: "+
			""+
			""+
			""+
			""+
			""+
			"%w", unquoted.Error(err))
	}
	return fmt.Errorf("the record cannot be read: %w", unquoted.Error(err))
}

// decodePlainRecord reads what encode writes for nearly all jobs: the fields in their order, without spaces and
// escapes. It says false for everything else, right or wrong, which is then left to encoding/json.
func decodePlainRecord(b []byte, id, name string) (record, bool) {
	s := jsonScan{rest: b}
	r := record{}
	r.ID = s.known(`{"jid":"`, id)
	r.Name = s.known(`,"name":"`, name)
	r.Args = s.array(`,"args":`)
	r.EnqueuedAt = s.number(`,"t":`)
	r.Source = s.optional(`,"source":`)
	if s.has(`,"retries":`) {
		retries := int(s.digits())
		r.Retries = &retries
	}
	r.Timeout = s.optional(`,"timeout":`)
	r.Retention = s.optional(`,"retention":`)
	r.RunAt = s.optional(`,"at":`)
	if s.has(`,"meta":{`) {
		r.Meta = s.texts()
	}
	return r, s.has(`}`) && len(s.rest) == 0 && !s.failed
}

// jsonScan takes JSON of a known shape apart, from the left.
type jsonScan struct {
	rest   []byte
	failed bool
}

// has takes a prefix away, if it is there.
func (s *jsonScan) has(prefix string) bool {
	if len(s.rest) < len(prefix) || string(s.rest[:len(prefix)]) != prefix {
		return false
	}
	s.rest = s.rest[len(prefix):]
	return true
}

// text reads a string behind the prefix, which has its first quote.
func (s *jsonScan) text(prefix string) string {
	if !s.has(prefix) {
		s.failed = true
		return ""
	}
	end, ascii := 0, true
	for end < len(s.rest) && s.rest[end] != '"' {
		if c := s.rest[end]; c < ' ' || c == '\\' {
			s.failed = true
			return ""
		} else if c >= utf8.RuneSelf {
			ascii = false
		}
		end++
	}
	if end == len(s.rest) || !ascii && !utf8.Valid(s.rest[:end]) {
		s.failed = true
		return ""
	}
	text := string(s.rest[:end])
	s.rest = s.rest[end+1:]
	return text
}

// known is text for a string that is most probably that one, which need not be made again then.
func (s *jsonScan) known(prefix, text string) string {
	if whole := len(prefix) + len(text); len(s.rest) > whole && s.rest[whole] == '"' && isPlain(text) &&
		string(s.rest[:len(prefix)]) == prefix && string(s.rest[len(prefix):whole]) == text {
		s.rest = s.rest[whole+1:]
		return text
	}
	return s.text(prefix)
}

// texts reads the members of an object of strings, and its closing brace.
func (s *jsonScan) texts() map[string]string {
	texts := map[string]string{}
	for before := `"`; !s.failed && !s.has(`}`); before = `,"` {
		key := s.text(before)
		texts[key] = s.text(`:"`)
	}
	return texts
}

func (s *jsonScan) array(prefix string) []byte {
	if !s.has(prefix) || len(s.rest) == 0 || s.rest[0] != '[' {
		s.failed = true
		return nil
	}
	end := skipJSON(s.rest, 0, 0)
	if end < 0 {
		s.failed = true
		return nil
	}
	array := s.rest[:end:end]
	s.rest = s.rest[end:]
	return array
}

func (s *jsonScan) number(prefix string) int64 {
	if !s.has(prefix) {
		s.failed = true
		return 0
	}
	return s.digits()
}

func (s *jsonScan) optional(prefix string) int64 {
	if !s.has(prefix) {
		return 0
	}
	return s.digits()
}

// digits reads an integer of at most 18 digits, which fits.
func (s *jsonScan) digits() int64 {
	negative := s.has("-")
	var n int64
	i := 0
	for i < len(s.rest) && s.rest[i] >= '0' && s.rest[i] <= '9' {
		if i == 18 {
			s.failed = true
			return 0
		}
		n = n*10 + int64(s.rest[i]-'0')
		i++
	}
	if i == 0 || i > 1 && s.rest[0] == '0' {
		s.failed = true
		return 0
	}
	s.rest = s.rest[i:]
	if negative {
		return -n
	}
	return n
}
