package thoonk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// Kind is what a feed is, as its config says it.
type Kind string

// The kinds.
const (
	KindLeaf   Kind = "feed"
	KindSorted Kind = "sorted_feed"
	KindQueue  Kind = "queue"
	KindJob    Kind = "job"
)

func builtIn(kind Kind) bool {
	switch kind {
	case KindLeaf, KindSorted, KindQueue, KindJob:
		return true
	}
	return false
}

// Config is the stored config of a feed. The zero value is that of a leaf without a limit.
type Config struct {
	Kind Kind // empty: a leaf
	// items that a leaf keeps, the latest; 0: all. The next publish removes what is over
	MaxLength int
	Other     map[string]json.RawMessage // what else there is, as it is: options of other programs
	// how a new feed is to look in Redis, and how one that is there looks. [Client.SetConfig] keeps what it finds; but
	// with FormSorted, where the config is no hash and no job is claimed or stalled, it gives that one: a leaf's ids
	// become a sorted set in one script, which takes some ms for each 10,000 items
	Form Form
}

var errConfig = errors.New("its config cannot be read")

// parseConfig reads a config: its JSON, or a hash. "leaf" and "list" are other words of other programs.
func parseConfig(stored string) (Config, error) {
	config := Config{Kind: KindLeaf}
	if stored == "" {
		return config, nil
	}
	all, err := storedOptions(stored)
	if err != nil {
		return config, err
	}
	if kind, ok := all["type"]; ok {
		if err := json.Unmarshal(kind, &config.Kind); err != nil {
			return config, fmt.Errorf("%w: its type is not a text: %w", errConfig, err)
		}
	}
	if limit, ok := all["max_length"]; ok {
		// Other programs write null and texts; what is no number is no limit, and stays as it is.
		if json.Unmarshal(limit, &config.MaxLength) == nil {
			delete(all, "max_length")
		}
	}
	switch config.Kind {
	case "leaf", "":
		config.Kind = KindLeaf
	case "list":
		config.Kind = KindSorted
	}
	delete(all, "type")
	if len(all) > 0 {
		config.Other = all
	}
	return config, nil
}

func storedOptions(stored string) (all map[string]json.RawMessage, err error) {
	if texts, isHash := thoonkdb.Unframed(stored); isHash {
		return options(texts)
	}
	if err := json.Unmarshal([]byte(stored), &all); err != nil {
		return nil, fmt.Errorf("%w: it is not a JSON object: %w", errConfig, err)
	}
	return all, nil
}

// stored is what is stored of a checked config, the same for the same config.
func (c Config) stored() (thoonkdb.NewConfig, error) {
	all := map[string]any{"type": c.Kind}
	for option, value := range maps.All(c.Other) {
		all[option] = value
	}
	all["type"] = c.Kind
	if c.MaxLength != 0 {
		all["max_length"] = c.MaxLength
	}
	stored := thoonkdb.NewConfig{Released: c.Form != FormContract, Leaf: c.Kind == KindLeaf}
	if c.Form == FormHash {
		texts, err := fields(all)
		stored.Content = thoonkdb.Framed(texts)
		return stored, err
	}
	text, err := json.Marshal(all)
	stored.Content = string(text)
	return stored, err
}

// orLeaf is a config with its default.
func (c Config) orLeaf() Config {
	if c.Kind == "" {
		c.Kind = KindLeaf
	}
	return c
}

// check says what is wrong with a config of a kind that is kept as base.
func (c Config) check(base Kind) error {
	switch {
	case !builtIn(base):
		return fmt.Errorf("kind %q is unknown: use %q, %q, %q or %q, or add it with WithKind", c.Kind,
			KindLeaf, KindSorted, KindQueue, KindJob)
	case c.MaxLength < 0:
		return fmt.Errorf("max_length %d is negative: use 0 for no limit", c.MaxLength)
	case c.MaxLength > 0 && base != KindLeaf:
		return fmt.Errorf("max_length %d of a %s has no meaning: only a leaf has a limit", c.MaxLength,
			c.Kind)
	}
	return c.Form.check()
}
