package thoonk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
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

// described is the config of a feed, with its form.
func described(l thoonkdb.Layout) (Config, error) {
	config, err := parseConfig(l.Config)
	switch {
	case l.Hash:
		config.Form = FormHash
	case l.Released:
		config.Form = FormSorted
	}
	if config.Kind == KindLeaf && config.Form == FormSorted {
		config.Kind = traced(l)
	}
	return config, err
}

// traced is the kind of a feed of thoonk.js 0.2, which calls each new one a leaf, whatever it is. It has the right word
// once it was opened a second time.
func traced(l thoonkdb.Layout) Kind {
	switch {
	case l.Sorted:
		return KindSorted
	case l.Job:
		return KindJob
	case l.Items == "list":
		return KindQueue
	}
	return KindLeaf
}

// adopt gives a feed that calls itself a leaf the kind as which it is opened, if its keys show that it has that kind.
func (f *feed) adopt(ctx context.Context) error {
	layout, err := f.db.Layout(ctx)
	if err != nil {
		return err
	}
	config, err := described(layout)
	if err != nil {
		return err
	}
	if config.Kind == KindQueue && f.base == KindJob {
		config.Kind = KindJob // of either the ids are a list, and nothing else may be there
	}
	if config.Kind != f.base {
		return &KindError{Want: f.base, Have: config.Kind}
	}
	stored, err := config.stored()
	if err != nil {
		return err
	}
	err = f.db.Configure(ctx, layout.Config, thoonkdb.NewConfig{Content: stored.Content}, f.client.instance)
	if errors.Is(err, thoonkdb.ErrStale) {
		err = nil // another one did
	}
	return err
}

// reformed is the config in the form of the one that is stored.
func (c Config) reformed(l thoonkdb.Layout) (thoonkdb.NewConfig, error) {
	given := c.Form
	if given != FormContract && (given == FormHash) != l.Hash {
		return thoonkdb.NewConfig{}, errForm
	}
	if c.Form = FormContract; l.Hash {
		c.Form = FormHash
	}
	stored, err := c.stored()
	stored.Released = given == FormSorted && !l.Released
	return stored, err
}

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
