package gocraft

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/nearest"
	"github.com/265d0351/work/internal/redisconn"
)

// Notes is what the program must declare anew, and what was given here that fits nothing there.
func (s *Source) Notes(ctx context.Context) (notes []string, err error) {
	names, pools, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 && len(pools) == 0 {
		note, err := s.nothingHere(ctx)
		if note != "" {
			notes = append(notes, note)
		}
		return notes, err
	}
	for _, name := range names {
		found, err := s.notesOf(ctx, name)
		if err != nil {
			return nil, err
		}
		notes = append(notes, found...)
	}
	periodic, err := s.set(ctx, s.prefix+"last_periodic_enqueue")
	if periodic {
		notes = append(notes, "periodic jobs are declared in code: declare them, pool.Periodic(spec, name)")
	}
	notes = append(notes, s.unknownFails(names)...)
	slices.Sort(notes)
	return notes, err
}

// notesOf is what the program must declare anew of the jobs of a name.
func (s *Source) notesOf(ctx context.Context, name string) (notes []string, err error) {
	for suffix, note := range map[string]string{
		":paused":          "job %s is paused: see work pause",
		":max_concurrency": "job %s has MaxConcurrency: declare it, JobOptions.Limit",
	} {
		found, err := s.set(ctx, s.queue(name)+suffix)
		if err != nil {
			return nil, err
		}
		if found {
			notes = append(notes, fmt.Sprintf(note, name))
		}
	}
	return notes, nil
}

// set tells whether a key is there and not 0.
func (s *Source) set(ctx context.Context, key string) (bool, error) {
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "GET", Keys: []string{key}})
	return value != nil && ledger.One("GET", value).Text() != "0", err
}

// unknownFails are the names in MaxFails that no job there has.
func (s *Source) unknownFails(names []string) (notes []string) {
	for name := range s.maxFails {
		if name == "" || slices.Contains(names, name) {
			continue
		}
		note := fmt.Sprintf("--max-fails of %s: no job there has that name", excerpt.Brief(name))
		if meant := nearest.DidYouMean(name, names, excerpt.Brief); meant != "" {
			note += ", " + meant
		}
		notes = append(notes, note)
	}
	return notes
}

// mostElsewhere is how many other namespaces are named.
const mostElsewhere = 5

// nothingHere says that the namespace knows no job, and which others do: "0 jobs came over" would be taken for success.
func (s *Source) nothingHere(ctx context.Context) (string, error) {
	others, err := s.elsewhere(ctx)
	note := fmt.Sprintf("nothing of gocraft/work is in the namespace %q there", strings.TrimSuffix(s.prefix, ":"))
	switch {
	case err != nil:
		return "", err
	case len(others) == 0:
		return note + ", nor in others: is --from the Redis that its pools use, and the number of its database?", nil
	case len(others) > mostElsewhere:
		others = append(others[:mostElsewhere:mostElsewhere], "...")
	}
	return note + ", but in " + strings.Join(others, ", ") + ": see --from-namespace", nil
}

// elsewhere are the namespaces that know jobs.
func (s *Source) elsewhere(ctx context.Context) (namespaces []string, err error) {
	for cursor := "0"; ; {
		value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: "SCAN",
			Args: []any{cursor, "MATCH", "*known_jobs", "COUNT", 1000, "TYPE", "set"}})
		if err != nil {
			return nil, fmt.Errorf("the keys cannot be read: %w", err)
		}
		r := redisconn.Read("SCAN", value)
		cursor = r.Text()
		for _, key := range r.Texts() {
			if of, is := namespaceOf(key); is {
				namespaces = append(namespaces, excerpt.Brief(of))
			}
		}
		if r.Err() != nil || cursor == "0" {
			slices.Sort(namespaces)
			return slices.Compact(namespaces), r.Err()
		}
	}
}

// namespaceOf is that of the key which lists the names of jobs.
func namespaceOf(key string) (namespace string, is bool) {
	if key == "known_jobs" {
		return "", true
	}
	return strings.CutSuffix(key, ":known_jobs")
}
