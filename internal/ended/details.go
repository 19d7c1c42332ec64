// Package ended knows what is kept of a job that has ended beside its outcome: its record, its attempts, and what the
// last one told. Whoever ends a job makes such a text, and whatever shows jobs reads it. It never asks Redis; package
// rdb says where the texts stand, and bounds how many there are.
package ended

import (
	"bytes"
	"encoding/json"

	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/record"
)

// Details is what is kept. Times are ms, by Redis' clock.
type Details struct {
	Record   json.RawMessage  `json:"-"`                // as it was stored, perhaps without args; nil: not known
	NoArgs   Omission         `json:"no_args,omitzero"` // why the args are not in there
	Attempts []record.Attempt `json:"attempts,omitempty"`
	Fails    int              `json:"fails,omitzero"`    // attempts that failed
	Left     int              `json:"left_out,omitzero"` // attempts before those, of which nothing is known any more
	Begun    int64            `json:"begun,omitzero"`    // the first of all attempts, where it is one that was left out
	Message  string           `json:"message,omitzero"`  // what the last attempt said last
	Progress json.RawMessage  `json:"progress,omitempty"`
	SaidAt   int64            `json:"said,omitzero"` // when that was known, about
	Reason   string           `json:"reason,omitzero"`
	Children *record.Children `json:"children,omitempty"` // that it has enqueued; nil for none
	Failure  string           `json:"failure,omitzero"`   // the kind of the failure by which it died
	Again    string           `json:"again,omitzero"`     // the id of the job that was enqueued to do the same again
}

// Omission is why the args of a job are not kept.
type Omission string

// The reasons.
const (
	Unwanted Omission = "unwanted" // somebody asked for that
	TooLarge Omission = "too large"
)

// MaxBytes is how large the details of a job are at the most: what is larger loses args, then the stacks of its
// attempts, then their texts.
const MaxBytes = 64 << 10

// Encode returns the JSON of the details, with the record byte for byte. One that is no JSON is left out.
func (d Details) Encode() []byte {
	if !json.Valid(d.Record) {
		d.Record = nil
	}
	if d.NoArgs != "" {
		d.Record = withoutArgs(d.Record)
	}
	smaller := []func(){
		func() { d.NoArgs, d.Record = TooLarge, withoutArgs(d.Record) },
		func() { d.shorten(func(a *record.Attempt) { a.Stack = "" }) },
		func() { d.shorten(func(a *record.Attempt) { a.Error = "" }) },
		func() { d.Record = nil },
	}
	encoded := d.encode()
	for _, step := range smaller {
		if len(encoded) <= MaxBytes {
			break
		}
		step()
		encoded = d.encode()
	}
	return encoded
}

func (d *Details) encode() []byte {
	rest, err := json.Marshal(d)
	if err != nil { // strings, numbers and a JSON that was checked: cannot happen
		return nil
	}
	if d.Record == nil {
		return rest
	}
	encoded := append(append([]byte(`{"record":`), d.Record...), ',')
	return append(bytes.TrimSuffix(encoded, commaBefore(rest)), rest[1:]...)
}

// commaBefore is the comma that goes where nothing follows it.
func commaBefore(rest []byte) []byte {
	if len(rest) == len("{}") {
		return []byte(",")
	}
	return nil
}

func (d *Details) shorten(change func(*record.Attempt)) {
	attempts := append([]record.Attempt{}, d.Attempts...)
	for i := range attempts {
		change(&attempts[i])
	}
	d.Attempts = attempts
}

// withoutArgs is nil where args cannot be taken out.
func withoutArgs(raw []byte) []byte {
	edited, err := record.WithArgs(raw, []byte("[]"))
	if err != nil {
		return nil
	}
	return edited
}

// Decode reads details. Its errors are those of encoding/json.
func Decode(text []byte) (Details, error) {
	var stored struct {
		Record json.RawMessage `json:"record"`
		Details
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		return Details{}, err
	}
	stored.Details.Record = stored.Record
	return stored.Details, nil
}

// WithAgain are stored details with the id of the job that does the same again. All else stays byte for byte.
func WithAgain(text []byte, id string) ([]byte, error) {
	return rawjson.Set(text, "again", rawjson.AppendString(nil, id))
}
