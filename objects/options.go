package objects

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	defaultNamespace = "work"
	defaultGrace     = time.Hour
	minGrace         = time.Millisecond // the unit of Redis' clock
	maxNamespace     = 100
)

// Options are those of [Open] and [New]. The zero value is a store in Redis, in the namespace "work".
type Options struct {
	// Namespace is what all keys in Redis begin with, the same as that of the enqueuers and pools. It has at most 100
	// bytes, no braces and no control characters. Empty means "work". New ignores it.
	Namespace string

	// Grace is how long an object stays after its last use when no job refers to it: so long has whoever put it to
	// enqueue a job with it. It must be longer than an upload takes. 0 means an hour.
	Grace time.Duration

	// Home is where contents are kept. nil means Redis. All stores of a namespace must have the same one.
	Home Home
}

// withDefaults returns the options as they count.
func (o Options) withDefaults() (Options, error) {
	if o.Namespace == "" {
		o.Namespace = defaultNamespace
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	return o, o.validate()
}

func (o Options) validate() error {
	refuse := func(remedy string) error {
		return &OptionError{Option: "Namespace", Value: fmt.Sprintf("%.60q", o.Namespace), Remedy: remedy}
	}
	switch {
	case len(o.Namespace) > maxNamespace:
		return refuse(fmt.Sprintf("use at most %d bytes", maxNamespace))
	case strings.ContainsAny(o.Namespace, "{}"):
		return refuse("use one without { and }")
	case !utf8.ValidString(o.Namespace), strings.ContainsFunc(o.Namespace, unicode.IsControl):
		return refuse("use valid UTF-8 without control characters")
	case o.Grace < minGrace:
		return &OptionError{Option: "Grace", Value: o.Grace.String(), Remedy: "use a millisecond or more, such as 1h"}
	}
	return nil
}
