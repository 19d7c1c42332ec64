package main

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/dsn"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui"
)

// maxPlaces is how many lines of a file of places are read.
const maxPlaces = 100

// uiPlace is a namespace that a dashboard shows.
type uiPlace struct{ name, namespace, redis string }

// readPlaces reads lines "name namespace [DSN]"; the DSN is --redis where there is none. Empty lines and those that
// begin with # do not count.
func readPlaces(a *cli.App, path string) ([]uiPlace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, exit.Usagef("--places cannot be read: %w", err)
	}
	defer file.Close() //lint:ignore errcheck it was only read
	text, err := io.ReadAll(io.LimitReader(file, 1<<20))
	if err != nil {
		return nil, exit.Usagef("--places cannot be read: %w", err)
	}
	var places []uiPlace
	for n, line := range bytes.Split(text, []byte("\n")) {
		words := strings.Fields(string(line))
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) == 2 {
			words = append(words, a.Redis)
		}
		switch {
		case len(words) != 3:
			return nil, exit.Usagef("%s, line %d: give a name for the address, a namespace, and a DSN unless it is "+
				"that of --redis", path, n+1)
		case words[2] == "":
			return nil, exit.Usagef("%s, line %d: no Redis is named: add a DSN, or give --redis", path, n+1)
		case dsn.InMemory(words[2]):
			return nil, exit.Usagef("%s, line %d: %s ends with this program: name a Redis that stays", path, n+1,
				words[2])
		}
		places = append(places, uiPlace{words[0], words[1], words[2]})
	}
	if len(places) == 0 || len(places) > maxPlaces {
		return nil, exit.Usagef("%s names %d places: give 1 to %d", path, len(places), maxPlaces)
	}
	return places, nil
}

// openPlaces makes a dashboard of them, and what closes their connections.
func openPlaces(places []uiPlace, opts webui.Options) (_ http.Handler, all []webui.Place, closing func() error,
	err error) {
	var closers []io.Closer
	closing = func() error {
		var failed []error
		for _, c := range closers {
			failed = append(failed, c.Close())
		}
		return errors.Join(failed...)
	}
	for _, p := range places {
		of := opts
		of.Title = p.name
		inspector, err := inspect.New(p.redis, work.Namespace(p.namespace))
		if err == nil {
			closers = append(closers, inspector)
			of.Enqueuer, err = work.NewEnqueuer(p.redis, work.Namespace(p.namespace))
		}
		if err != nil {
			return nil, nil, closing, &exit.UsageError{Err: err}
		}
		closers = append(closers, of.Enqueuer)
		all = append(all, webui.Place{Name: p.name, Inspector: inspector, Options: of})
	}
	handler, err := webui.Places(all...)
	if err != nil {
		err = &exit.UsageError{Err: err}
	}
	return handler, all, closing, err
}
