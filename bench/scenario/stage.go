package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/bench/server"
)

// Stage is the servers that the libraries work on. Only one run at a time may use it.
type Stage struct {
	Redis         *server.Redis
	Postgres      *server.Postgres // nil where it is missing
	PostgresError error            // why it is missing
}

// store is what the harness asks of a server.
type store interface {
	Clear(ctx context.Context) error
	Ready(ctx context.Context) error
	CPU() (time.Duration, error)
	Stored(ctx context.Context) (int64, error)
}

// Lacks tells why a library cannot be measured here, nil if it can.
func (s *Stage) Lacks(lib peer.Library) error {
	if lib.Store() == peer.Postgres && s.Postgres == nil {
		return fmt.Errorf("%s is left out, there is no PostgreSQL: %w", lib.Name(), s.PostgresError)
	}
	return nil
}

func (s *Stage) of(lib peer.Library) store {
	if lib.Store() == peer.Postgres {
		return s.Postgres
	}
	return s.Redis
}

// place is where the libraries find the servers, with a Redis at another address if one is given.
func (s *Stage) place(redis string) peer.Place {
	p := peer.Place{Redis: s.Redis.Addr}
	if redis != "" {
		p.Redis = redis
	}
	if s.Postgres != nil {
		p.Postgres = s.Postgres.DSN
	}
	return p
}

// Close ends the servers.
func (s *Stage) Close() {
	if s.Redis != nil {
		s.Redis.Close()
	}
	if s.Postgres != nil {
		s.Postgres.Close()
	}
}
