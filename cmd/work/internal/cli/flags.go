package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
)

// Span is a flag that takes a duration, also in days.
type Span time.Duration

// Duration is what the flag holds.
func (s Span) Duration() time.Duration { return time.Duration(s) }

// Type is what help calls the value.
func (*Span) Type() string { return "span" }

// String is the default as help shows it.
func (s *Span) String() string { return time.Duration(*s).String() }

// Set reads 90s, 2h, 7d or 1d12h.
func (s *Span) Set(text string) error {
	var whole time.Duration
	if days, rest, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil || n > mostDays {
			return errNoSpan
		}
		whole, text = time.Duration(n)*24*time.Hour, rest
		if text == "" {
			text = "0s"
		}
	}
	part, err := time.ParseDuration(text)
	if err != nil || part < 0 {
		return errNoSpan
	}
	*s = Span(whole + part)
	return nil
}

// mostDays keep what is added to them within a time.Duration.
const mostDays = 36_500

var errNoSpan = errors.New("it is no duration")

// TimeFlags say when.
type TimeFlags struct {
	in time.Duration
	at string
}

// Time is when, by the clock of Redis.
func (f TimeFlags) Time(ctx context.Context, i *inspect.Inspector) (time.Time, error) {
	switch {
	case f.at != "" && f.in != 0:
		return time.Time{}, exit.Usagef("--in %s and --at %s exclude each other: give one", f.in, f.at)
	case f.in < 0:
		return time.Time{}, exit.Usagef("--in is %s: give a positive duration, as 90s", f.in)
	case f.in > 0:
		server, err := i.Server(ctx)
		return server.Now.Add(f.in), err
	case f.at == "":
		return time.Time{}, exit.Usagef("the time is missing: give --in 90s or --at 2030-01-31T09:00:00Z")
	}
	at, err := time.Parse(time.RFC3339, f.at)
	if err != nil || at.IsZero() {
		return time.Time{}, exit.Usagef("--at is %q: give a time as 2030-01-31T09:00:00Z or 2030-01-31T10:00:00+01:00",
			f.at)
	}
	return at, nil
}

// Register adds --in and --at to a command.
func (f *TimeFlags) Register(flags *pflag.FlagSet) {
	flags.DurationVar(&f.in, "in", 0, "after this `duration`, as 90s or 2h")
	flags.StringVar(&f.at, "at", "", "at this `time`, as 2030-01-31T09:00:00Z (RFC 3339)")
}

// LateError says that --within has passed.
type LateError struct{ Within time.Duration }

func (e *LateError) Error() string { return fmt.Sprintf("no answer within %s (--within)", e.Within) }

// Is makes it a missed deadline for errors.Is.
func (*LateError) Is(target error) bool { return target == context.DeadlineExceeded }
