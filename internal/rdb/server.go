package rdb

import (
	"context"
	"strconv"
	"strings"
)

// ServerFacts is what a Redis says of itself, as far as it matters here. What it does not say is empty: managed servers
// hide their configuration, and the embedded one has none.
type ServerFacts struct {
	Version        string // "7.0.15"
	EvictionPolicy string // "noeviction"
	Role           string // "master", "slave"
}

// Server asks Redis what it is. A refusal of a question is no error.
func (s *Store) Server(ctx context.Context) (ServerFacts, error) {
	replies, err := s.driver.Pipeline(ctx, Call{Command: "INFO", Args: []any{"server"}},
		Call{Command: "INFO", Args: []any{"memory"}}, Call{Command: "INFO", Args: []any{"replication"}})
	if err != nil {
		return ServerFacts{}, err
	}
	said := map[string]string{}
	for _, reply := range replies {
		text, _ := reply.Value.([]byte)
		for line := range strings.Lines(string(text)) {
			if field, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				said[field] = value
			}
		}
	}
	return ServerFacts{Version: said["redis_version"], EvictionPolicy: said["maxmemory_policy"], Role: said["role"]}, nil
}

// MinVersion is the oldest Redis whose commands the scripts need (RPOP with a count, LPOS).
const MinVersion = "6.2"

// TooOld tells whether the server says that it is older than [MinVersion].
func (f ServerFacts) TooOld() bool {
	major, rest, _ := strings.Cut(f.Version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	return errA == nil && errB == nil && (a < 6 || a == 6 && b < 2)
}
