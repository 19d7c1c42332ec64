package work

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/265d0351/work/internal/unquoted"
)

// definition is a schedule as it is stored. Equal ones are equal byte for byte: what is compared is the text.
type definition struct {
	Spec    string          `json:"spec"`
	TZ      string          `json:"tz,omitempty"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Jitter  int64           `json:"jitter,omitempty"` // ms
	Missed  Missed          `json:"missed,omitempty"`
	Overlap Overlap         `json:"overlap,omitempty"`
	Service string          `json:"service,omitempty"` // that declares it; "" for one that was added by hand
	Paused  bool            `json:"paused,omitempty"`
}

// schedule is a definition that was found good.
type schedule struct {
	id         string
	definition definition
	table      *timetable
}

// wish is a schedule as a program asks for it.
type wish struct {
	spec, name string
	opts       PeriodicOptions
	args       []any
}

// newSchedule checks what a program wants. maxArgs bounds the JSON of the args.
func newSchedule(w wish, maxArgs int) (*schedule, []error) {
	opts := w.opts
	s := &schedule{id: cmp.Or(opts.ID, w.name), definition: definition{
		Spec: w.spec, TZ: opts.TZ, Name: w.name, Jitter: millis(opts.Jitter), Missed: opts.Missed,
		Overlap: opts.Overlap,
	}}
	mistakes := opts.validate()
	note := func(err error) {
		if err != nil {
			mistakes = append(mistakes, err)
		}
	}
	note(validateName(w.name))
	if opts.ID != "" {
		note(validateWord("schedule id", opts.ID, maxIDBytes))
	}
	var err error
	s.definition.Args, err = encodeArgs(nil, w.name, w.args, maxArgs)
	note(err)
	s.table, err = parseTimetable(w.spec, opts.TZ)
	note(err)
	if err == nil && opts.Jitter > 0 {
		note(s.checkJitter(opts.Jitter))
	}
	return s, mistakes
}

// checkJitter refuses one with which the jobs of two ticks could change places.
func (s *schedule) checkJitter(jitter time.Duration) error {
	least := s.table.shortest()
	if jitter < least {
		return nil
	}
	return &InvalidError{
		What: "PeriodicOptions.Jitter", Value: jitter.String(),
		Remedy: fmt.Sprintf("give less than the %v that may lie between two ticks of %s", least,
			quoted(s.definition.Spec)),
	}
}

// readSchedule takes a stored definition apart.
func readSchedule(id string, stored []byte) (*schedule, error) {
	s := &schedule{id: id}
	err := json.Unmarshal(stored, &s.definition)
	if err == nil {
		err = validateName(s.definition.Name)
	} else {
		err = unquoted.Error(err) // its args are in there
	}
	if err == nil {
		s.table, err = parseTimetable(s.definition.Spec, s.definition.TZ)
	}
	if err != nil {
		return s, fmt.Errorf("schedule %s: %w", quoted(id), err)
	}
	return s, nil
}

// text is what is stored. It cannot fail: the args are JSON, all else is plain.
func (d definition) text() []byte {
	encoded, _ := json.Marshal(d)
	return encoded
}

// sameTicks tells whether two definitions have the same ticks, so that the last one of the former counts for the
// latter.
func (d definition) sameTicks(other definition) bool { return d.Spec == other.Spec && d.TZ == other.TZ }
