package gocraft

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"strings"

	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/ledger"
	"github.com/265d0351/work/internal/redisconn"
)

//go:embed take.lua
var takeSource string

//go:embed close.lua
var closeSource string

var (
	takeScript  = ledger.Script("gocraft/take", takeSource)
	closeScript = ledger.Script("gocraft/close", closeSource)
)

// Source is gocraft/work in a Redis. One goroutine uses it.
type Source struct {
	driver   redisconn.Driver
	prefix   string
	maxFails MaxFails
	names    names
}

var _ migrate.Source = (*Source)(nil)

// MaxFails is what handlers of the old side had, by the names of their jobs; "" is all others. A job of a name that has
// some has as many attempts left as it had there; else it has those of its handler here.
type MaxFails map[string]int

func (m MaxFails) of(name string) int {
	if n, found := m[name]; found {
		return n
	}
	return m[""]
}

// New makes a source.
func New(driver redisconn.Driver, namespace string, maxFails MaxFails) *Source {
	if namespace != "" && !strings.HasSuffix(namespace, ":") {
		namespace += ":"
	}
	return &Source{driver: driver, prefix: namespace, maxFails: maxFails}
}

// Name is what people call it.
func (*Source) Name() string { return "gocraft/work" }

func (s *Source) ledger() string { return s.prefix + "work-migrate:" }

func (s *Source) queue(name string) string { return s.prefix + "jobs:" + name }

// Ledgers is one.
func (s *Source) Ledgers(context.Context) ([]string, error) { return []string{s.ledger()}, nil }

// Wanted is all that there is.
func (*Source) Wanted(ledger.Shelf) bool { return true }

// Shelves are the queues of all names that are known, what pools run, and what is the same for all names.
func (s *Source) Shelves(ctx context.Context) (all []ledger.Shelf, err error) {
	names, pools, err := s.look(ctx)
	if err != nil {
		return nil, err
	}
	shelf := func(kind ledger.Kind, queue, key, owner string) {
		all = append(all, ledger.Shelf{Ledger: s.ledger(), Kind: kind, Queue: queue, Key: key, Owner: owner})
	}
	for _, pool := range pools {
		for _, name := range names {
			shelf(ledger.Running, name, s.queue(name)+":"+pool+":inprogress", pool)
		}
	}
	for _, name := range names {
		shelf(ledger.Queued, name, s.queue(name), "")
	}
	shelf(ledger.Retrying, "", s.prefix+"retry", "")
	shelf(ledger.Scheduled, "", s.prefix+"scheduled", "")
	shelf(ledger.Dead, "", s.prefix+"dead", "")
	return all, nil
}

// Count is how many jobs are there.
func (s *Source) Count(ctx context.Context, shelf ledger.Shelf) (int, error) {
	command := "ZCARD"
	if listed(shelf.Kind) {
		command = "LLEN"
	}
	value, err := redisconn.Do(ctx, s.driver, redisconn.Call{Command: command, Keys: []string{shelf.Key}})
	if err != nil {
		return 0, fmt.Errorf("%s cannot be read: %w", shelf.Key, err)
	}
	r := ledger.One(command, value)
	return int(r.Number()), r.Err()
}

// listed tells whether the place is a list.
func listed(kind ledger.Kind) bool { return kind == ledger.Queued || kind == ledger.Running }
