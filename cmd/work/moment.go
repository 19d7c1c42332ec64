package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/265d0351/work"
)

// timeFlags say when.
type timeFlags struct {
	in time.Duration
	at string
}

// moment is when, by the clock of Redis.
func (f timeFlags) moment(ctx context.Context, i *work.Inspector) (time.Time, error) {
	switch {
	case f.at != "" && f.in != 0:
		return time.Time{}, usagef("--in %s and --at %s exclude each other: give one", f.in, f.at)
	case f.in < 0:
		return time.Time{}, usagef("--in is %s: give a positive duration, as 90s", f.in)
	case f.in > 0:
		server, err := i.Server(ctx)
		return server.Now.Add(f.in), err
	case f.at == "":
		return time.Time{}, usagef("the time is missing: give --in 90s or --at 2030-01-31T09:00:00Z")
	}
	at, err := time.Parse(time.RFC3339, f.at)
	if err != nil || at.IsZero() {
		return time.Time{}, usagef("--at is %q: give a time as 2030-01-31T09:00:00Z or 2030-01-31T10:00:00+01:00", f.at)
	}
	return at, nil
}

func (f *timeFlags) register(flags *pflag.FlagSet) {
	flags.DurationVar(&f.in, "in", 0, "after this `duration`, as 90s or 2h")
	flags.StringVar(&f.at, "at", "", "at this `time`, as 2030-01-31T09:00:00Z (RFC 3339)")
}
