package thoonk

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Form is how the keys of a feed look. Each form is read and written as it is found; the zero value is the contract's.
type Form string

// The forms. In those of released programs a leaf's ids and the claims of jobs are sorted sets, the stalled jobs are a
// set, and what was put in is counted.
const (
	FormContract Form = ""       // as the contract of February 2011 has it: lists, hashes, a config of JSON
	FormSorted   Form = "sorted" // as thoonk.js 0.2 has it
	FormHash     Form = "hash"   // as thoonk.py has it: also the config is a hash
)

func (f Form) check() error {
	switch f {
	case FormContract, FormSorted, FormHash:
		return nil
	}
	return fmt.Errorf("form %q is unknown: use FormContract, FormSorted or FormHash", f)
}

// errForm means that a feed has one form, and was to be given another.
var errForm = errors.New("the form of a feed stays: leave Config.Form empty, or create another feed")

// fields are those of a config that is a hash. What is no text is stored as its JSON.
func fields(all map[string]any) (map[string]string, error) {
	texts := map[string]string{}
	for option, value := range all {
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		var text string
		if json.Unmarshal(encoded, &text) != nil {
			text = string(encoded)
		}
		texts[option] = text
	}
	return texts, nil
}

// options are the fields of a config that is a hash, as JSON.
func options(texts map[string]string) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for option, text := range texts {
		encoded, err := json.Marshal(text)
		if err != nil {
			return nil, err
		}
		if option == "max_length" && json.Valid([]byte(text)) {
			encoded = []byte(text)
		}
		all[option] = encoded
	}
	return all, nil
}
