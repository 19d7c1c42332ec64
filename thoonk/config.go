package thoonk

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
}

var errConfig = errors.New("its config cannot be read")

// parseConfig reads the JSON of a config. "leaf" and "list" are other words of other programs.
func parseConfig(stored string) (Config, error) {
	config := Config{Kind: KindLeaf}
	if stored == "" {
		return config, nil
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(stored), &all); err != nil {
		return config, fmt.Errorf("%w: it is not a JSON object: %w", errConfig, err)
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

// stored is the JSON of a checked config, the same for the same config.
func (c Config) stored() (string, error) {
	all := map[string]any{"type": c.Kind}
	for option, value := range maps.All(c.Other) {
		all[option] = value
	}
	all["type"] = c.Kind
	if c.MaxLength != 0 {
		all["max_length"] = c.MaxLength
	}
	text, err := json.Marshal(all)
	return string(text), err
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
	return nil
}
