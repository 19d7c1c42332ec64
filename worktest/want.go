package worktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/265d0351/work"
)

// Want says which job should have been enqueued. Name is needed; what is the zero value is not looked at.
type Want struct {
	Name string
	// all of them, compared as JSON; Any stands for whatever is in its place; nil is any args
	Args    []any
	In      time.Duration        // as given to EnqueueIn
	At      time.Time            // when it is due, however that was said
	Within  time.Duration        // how far In and At may be off
	Source  int64                // as given to SourcedEnqueue
	Options []work.EnqueueOption // that it has, among others; of Meta the keys that are given here
	Times   int                  // how many such jobs there should be; 0 is one or more
}

// Any stands for an argument that is not looked at.
var Any = wildcard{}

type wildcard struct{}

// MarshalJSON shows it in failures. It is no JSON, so that nobody enqueues it by mistake.
func (wildcard) MarshalJSON() ([]byte, error) {
	return nil, fmt.Errorf("worktest.Any is for comparisons only")
}

// differences say in what a job is another one than the wanted; none when it is what was wanted. Its name is.
func (w *Want) differences(e *Enqueued) (all []string) {
	differ := func(what string, want, got any) {
		all = append(all, fmt.Sprintf("%s %v, not %v", what, got, want))
	}
	if e.Duplicate {
		all = append(all, "it is a duplicate, and was not stored")
	}
	if w.Args != nil && !sameArgs(w.Args, e.Args) {
		all = append(all, "its args differ")
	}
	if w.In != 0 && (w.In-e.In).Abs() > w.Within {
		differ("In is", w.In, e.In)
	}
	if !w.At.IsZero() && w.At.Sub(e.Due).Abs() > w.Within {
		differ("it is due at", w.At.Format(time.RFC3339Nano), e.Due.Format(time.RFC3339Nano))
	}
	if w.Source != 0 && w.Source != e.Source {
		differ("Source is", w.Source, e.Source)
	}
	for _, option := range options(work.Entry{Options: w.Options}.Settings()) {
		got := option.of(&e.Settings)
		if !reflect.DeepEqual(option.value, got) {
			differ(option.name+" is", plain(option.value), plain(got))
		}
	}
	return all
}

// sameArgs compares each argument as JSON: numbers digit by digit, objects whatever the order of their fields.
func sameArgs(want []any, got json.RawMessage) bool {
	var parts []json.RawMessage
	if json.Unmarshal(got, &parts) != nil || len(parts) != len(want) {
		return false
	}
	for i, arg := range want {
		if arg == Any {
			continue
		}
		encoded, err := encode(arg)
		if err != nil || !reflect.DeepEqual(decoded(encoded), decoded(parts[i])) {
			return false
		}
	}
	return true
}

// decoded keeps numbers as they are written, since 1234567890123456789 and its neighbours are one float64.
func decoded(encoded json.RawMessage) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	_ = decoder.Decode(&value) // both sides come from an encoder
	return value
}

// option is one that was given, with how to find it among those of another job.
type option struct {
	name  string
	value any
	of    func(*work.EntrySettings) any
}

// options are those that were given.
func options(s work.EntrySettings) (given []option) {
	for _, o := range []option{
		{name: "ID", of: func(s *work.EntrySettings) any { return s.ID }},
		{name: "Retries", of: func(s *work.EntrySettings) any { return s.Retries }},
		{name: "Timeout", of: func(s *work.EntrySettings) any { return s.Timeout }},
		{name: "Retention", of: func(s *work.EntrySettings) any { return s.Retention }},
		{name: "OmitArgs", of: func(s *work.EntrySettings) any { return s.OmitArgs }},
		{name: "Tags", of: func(s *work.EntrySettings) any { return s.Tags }},
		{name: "Front", of: func(s *work.EntrySettings) any { return s.Front }},
		{name: "Unique", of: func(s *work.EntrySettings) any { return s.Unique }},
		{name: "ExpireIn", of: func(s *work.EntrySettings) any { return s.ExpireIn }},
		{name: "ExpireAt", of: func(s *work.EntrySettings) any { return s.ExpireAt }},
		{name: "Deadline", of: func(s *work.EntrySettings) any { return s.Deadline }},
		{name: "RetryFor", of: func(s *work.EntrySettings) any { return s.RetryFor }},
		{name: "Completion", of: func(s *work.EntrySettings) any { return s.Completion }},
		{name: "Key", of: func(s *work.EntrySettings) any { return s.Key }},
		{name: "Weight", of: func(s *work.EntrySettings) any { return s.Weight }},
		{name: "Needs", of: func(s *work.EntrySettings) any { return s.Needs }},
		{name: "WaitReplicas", of: func(s *work.EntrySettings) any { return s.Replicas }},
	} {
		if o.value = o.of(&s); !reflect.ValueOf(o.value).IsZero() {
			given = append(given, o)
		}
	}
	for key, value := range s.Meta {
		given = append(given, option{name: "Meta " + key, value: value,
			of: func(s *work.EntrySettings) any { return s.Meta[key] }})
	}
	return given
}

// plain is a value as a failure shows it.
func plain(value any) any {
	v := reflect.ValueOf(value)
	switch {
	case v.Kind() != reflect.Pointer:
		return value
	case v.IsNil():
		return "not given"
	}
	return v.Elem().Interface()
}

func (w *Want) String() string {
	text := fmt.Sprintf("job %q", w.Name)
	if w.Args != nil {
		text += " with args " + showArgs(w.Args)
	}
	if w.In != 0 {
		text += " in " + w.In.String()
	}
	if !w.At.IsZero() {
		text += " at " + w.At.Format(time.RFC3339Nano)
	}
	if w.Source != 0 {
		text += fmt.Sprintf(" with source %d", w.Source)
	}
	return text + showOptions(work.Entry{Options: w.Options}.Settings())
}

func showArgs(args []any) string {
	shown := make([]string, len(args))
	for i, arg := range args {
		encoded, err := encode(arg)
		switch {
		case arg == Any:
			shown[i] = "(any)"
		case err != nil:
			shown[i] = "(does not encode: " + err.Error() + ")"
		default:
			shown[i] = string(encoded)
		}
	}
	return "[" + strings.Join(shown, ",") + "]"
}

func showOptions(s work.EntrySettings) string {
	var text strings.Builder
	for _, o := range options(s) {
		fmt.Fprintf(&text, ", %s %v", o.name, plain(o.value))
	}
	return text.String()
}
