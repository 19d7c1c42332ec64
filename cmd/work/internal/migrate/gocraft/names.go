package gocraft

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/internal/redisconn"
)

// scanEvery is how often all keys are walked over.
const scanEvery = time.Minute

// names are the names of jobs and the pools that there are or were. Sets list them; a queue that was filled by another
// program is in none, nor is a pool that was reaped before all that it ran was given back. Those are found by their
// keys, now and then.
type names struct {
	jobs, pools map[string]bool
	scanned     time.Time
}

// look brings the names up to date.
func (s *Source) look(ctx context.Context) (jobs, pools []string, err error) {
	if s.names.jobs == nil {
		s.names.jobs, s.names.pools = map[string]bool{}, map[string]bool{}
	}
	for set, into := range map[string]map[string]bool{"known_jobs": s.names.jobs, "worker_pools": s.names.pools} {
		key := s.prefix + set
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SMEMBERS", Keys: []string{key}})
		if err != nil {
			return nil, nil, fmt.Errorf("%s cannot be read: %w", key, err)
		}
		members, err := ledger.Texts("SMEMBERS", value)
		if err != nil {
			return nil, nil, err
		}
		for _, member := range members {
			into[member] = true
		}
	}
	if time.Since(s.names.scanned) > scanEvery {
		if err := s.scan(ctx); err != nil {
			return nil, nil, err
		}
		s.names.scanned = time.Now()
	}
	return sorted(s.names.jobs), sorted(s.names.pools), nil
}

func sorted(set map[string]bool) (all []string) {
	for member := range set {
		all = append(all, member)
	}
	slices.Sort(all)
	return all
}

// glob writes a text such that patterns take it for itself.
var glob = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`)

// scan walks over all keys.
func (s *Source) scan(ctx context.Context) error {
	for cursor := "0"; ; {
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SCAN",
			Args: []any{cursor, "MATCH", glob.Replace(s.prefix+"jobs:") + "*", "COUNT", 1000, "TYPE", "list"}})
		if err != nil {
			return fmt.Errorf("the keys cannot be read: %w", err)
		}
		r := redisconn.Read("SCAN", value)
		cursor = r.Text()
		for _, key := range r.Texts() {
			s.names.note(strings.TrimPrefix(key, s.prefix+"jobs:"))
		}
		if r.Err() != nil || cursor == "0" {
			return r.Err()
		}
	}
}

// note notes the end of the key of a list: "name", or "name:pool:inprogress".
func (n *names) note(end string) {
	rest, running := strings.CutSuffix(end, ":inprogress")
	if !running {
		n.jobs[end] = true
		return
	}
	if at := strings.LastIndexByte(rest, ':'); at > 0 {
		n.jobs[rest[:at]], n.pools[rest[at+1:]] = true, true
	}
}
