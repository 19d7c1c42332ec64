package schedule

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/needs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/span"
	"github.com/265d0351/work/internal/unquoted"
)

// Definition is a schedule as it is stored. Equal ones are equal byte for byte: what is compared is the text.
type Definition struct {
	Spec    string          `json:"spec"`
	TZ      string          `json:"tz,omitempty"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Jitter  int64           `json:"jitter,omitempty"` // ms
	Missed  int             `json:"missed,omitempty"` // MissedOnce, MissedSkip, or how many are made up for
	Overlap int             `json:"overlap,omitempty"`
	Key     string          `json:"key,omitempty"`     // of its jobs
	Weight  int             `json:"weight,omitempty"`  // of that key; 0 is 1
	Needs   []string        `json:"needs,omitempty"`   // labels that its jobs need, sorted
	Service string          `json:"service,omitempty"` // that declares it; "" for one that was added by hand
	Paused  bool            `json:"paused,omitempty"`
}

// What is done about missed ticks, and about ticks that come too soon. The numbers are stored.
const (
	MissedOnce   = 0  // one job stands for all of them
	MissedSkip   = -1 // they are left out
	MaxMissed    = 100
	OverlapAllow = 0
	OverlapSkip  = 1 // a tick is left out while the job of the last one has not ended
)

// Schedule is a definition that was found good.
type Schedule struct {
	ID         string
	Definition Definition
	Table      *Table
}

// Wanted is a schedule as somebody asks for it.
type Wanted struct {
	ID              string // "" is the name of the job
	Spec, TZ, Name  string
	Args            func() (json.RawMessage, error) // encodes the args of the job
	Jitter          time.Duration
	Missed, Overlap int
	Turn            rdb.Turn // of its jobs
	Needs           []string // labels that these need
}

// New checks what is wanted. The schedule that it returns beside mistakes is for their texts: it has its id.
func New(w Wanted) (*Schedule, []error) {
	s := &Schedule{ID: cmp.Or(w.ID, w.Name), Definition: Definition{
		Spec: w.Spec, TZ: w.TZ, Name: w.Name, Jitter: span.Millis(w.Jitter), Missed: w.Missed, Overlap: w.Overlap,
		Key: w.Turn.Key, Weight: w.Turn.Weight, Needs: needs.Sorted(slices.Clone(w.Needs)),
	}}
	mistakes := w.validate()
	note := func(err error) {
		if err != nil {
			mistakes = append(mistakes, err)
		}
	}
	note(invalid.JobName(w.Name))
	if w.ID != "" {
		note(invalid.Word("schedule id", w.ID, invalid.MaxID))
	}
	var err error
	s.Definition.Args, err = w.Args()
	note(err)
	s.Table, err = Parse(w.Spec, w.TZ)
	note(err)
	if err == nil && w.Jitter > 0 {
		note(s.checkJitter(w.Jitter))
	}
	return s, mistakes
}

// validate looks at what can be judged without the spec.
func (w Wanted) validate() []error {
	var mistakes []error
	refuse := func(field string, value any, remedy string) {
		mistakes = append(mistakes, &invalid.Error{What: "PeriodicOptions." + field, Value: fmt.Sprint(value),
			Remedy: remedy})
	}
	if w.Jitter < 0 {
		refuse("Jitter", w.Jitter, "give a positive duration, or 0 for none")
	}
	if w.Missed < MissedSkip || w.Missed > MaxMissed {
		refuse("Missed", fmt.Sprintf("MissedAll(%d)", MissedTicks(w.Missed)),
			"give MissedOnce, MissedSkip, or MissedAll(n) with n from 1 to 100")
	}
	if w.Overlap != OverlapAllow && w.Overlap != OverlapSkip {
		refuse("Overlap", w.Overlap, "give OverlapAllow or OverlapSkip")
	}
	if err := needs.Check("PeriodicOptions.Needs", w.Needs, needs.MostOfJob); err != nil {
		mistakes = append(mistakes, err)
	}
	if len(w.Needs) > 0 && w.Turn.Key != "" {
		refuse("Needs", strings.Join(w.Needs, ","),
			"give Key or Needs, and not both: the jobs of a key are limited and "+
				"ordered together, and those that need labels wait apart")
	}
	return append(mistakes, w.validateTurn()...)
}

// validateTurn looks at the key of the jobs and its weight.
func (w Wanted) validateTurn() (mistakes []error) {
	if w.Turn.Key != "" {
		if err := invalid.Word("PeriodicOptions.Key", w.Turn.Key, invalid.MaxKey); err != nil {
			mistakes = append(mistakes, err)
		}
	}
	switch weight := w.Turn.Weight; {
	case weight < 0 || weight > rdb.MaxWeight:
		mistakes = append(mistakes, &invalid.Error{What: "PeriodicOptions.Weight", Value: fmt.Sprint(weight),
			Remedy: fmt.Sprintf("use 1 to %d, or 0 for 1", rdb.MaxWeight)})
	case weight > 0 && w.Turn.Key == "":
		mistakes = append(mistakes, &invalid.Error{What: "PeriodicOptions.Weight", Value: "given without Key",
			Remedy: "give the key whose weight that is"})
	}
	return mistakes
}

// QueueIn is the queue of its jobs, where their name shares one with others; "" where it does not.
func (s *Schedule) QueueIn(shared string) string {
	return needs.Queue(cmp.Or(shared, s.Definition.Name), s.Definition.Needs)
}

// InQueue is the record of a job in such a queue.
func InQueue(raw []byte, shared string) []byte {
	if shared == "" {
		return raw
	}
	return record.InQueue(raw, "", shared)
}

// Turn is that of its jobs.
func (s *Schedule) Turn() rdb.Turn {
	return rdb.Turn{Key: s.Definition.Key, Weight: s.Definition.Weight}
}

// MissedTicks is the n of work.MissedAll, which moves what is not positive out of the way of the two that have a name.
func MissedTicks(missed int) int {
	if missed < MissedSkip {
		return missed + 2
	}
	return missed
}

// checkJitter refuses one with which the jobs of two ticks could change places.
func (s *Schedule) checkJitter(jitter time.Duration) error {
	least := s.Table.Shortest()
	if jitter < least {
		return nil
	}
	return &invalid.Error{
		What: "PeriodicOptions.Jitter", Value: jitter.String(),
		Remedy: fmt.Sprintf("give less than the %v that may lie between two ticks of %s", least,
			excerpt.Brief(s.Definition.Spec)),
	}
}

// Read takes a stored definition apart. With an error, what could be read is there all the same.
func Read(id string, stored []byte) (*Schedule, error) {
	s := &Schedule{ID: id}
	err := json.Unmarshal(stored, &s.Definition)
	if err == nil {
		err = invalid.JobName(s.Definition.Name)
	} else {
		err = unquoted.Error(err) // its args are in there
	}
	if err == nil {
		s.Table, err = Parse(s.Definition.Spec, s.Definition.TZ)
	}
	if err != nil {
		return s, fmt.Errorf("schedule %s: %w", excerpt.Brief(id), err)
	}
	return s, nil
}

// Text is what is stored. It cannot fail: the args are JSON, all else is plain.
func (d Definition) Text() []byte {
	encoded, _ := json.Marshal(d)
	return encoded
}

// SameTicks tells whether two definitions have the same ticks, so that the last one of the former counts for the
// latter.
func (d Definition) SameTicks(other Definition) bool { return d.Spec == other.Spec && d.TZ == other.TZ }
