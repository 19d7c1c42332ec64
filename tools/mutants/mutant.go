package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one change of one line that breaks a promise.
type mutant struct {
	Name   string
	File   string // from the root of the repository
	Before string // what the line says now; there is one such place in the file. A part of the next line may make it so
	After  string
	Breaks string  // what is promised and no longer true
	Tests  []tests // those most likely to see it, in the order in which they run
	Quick  bool    // it is seen within seconds and without chance
}

// tests are some test functions of a package.
type tests struct {
	Package string   // a directory, as go test takes it
	Names   []string // of test functions
}

// model is the test that drives all scripts at random against a model of them.
const model = "TestModelOnTheEmbeddedRedis"

// scripts are tests of the scripts, and of every script the model test.
func scripts(names ...string) []tests { return []tests{{"./internal/rdb", append(names, model)}} }

// unmodelled are tests of the scripts for what the model test leaves out: keys of wrong types, batches, other callers.
func unmodelled(names ...string) []tests { return []tests{{"./internal/rdb", names}} }

// loss are tests of whole pools whose workers or whose Redis die.
func loss(names ...string) []tests { return []tests{{"./internal/enginetest/loss", names}} }

// all are the mutants, in the order of a job's life.
func all() []mutant {
	var list []mutant
	for _, some := range [][]mutant{
		enqueueScripts, partitionScripts, moveScripts, fetchScripts, turnScripts, keyScripts, settleScripts,
		limitScripts,
		needsScripts, lockScripts, endScripts, waitScripts, longScripts, stepScripts, lifeScripts, careScripts,
		scheduleScripts, objectScripts, doctorScripts, endedScripts, flowScripts, flowRules, peopleScripts,
	} {
		list = append(list, some...)
	}
	return list
}

// apply returns the text of the file with the change in it.
func (m mutant) apply(text string) (string, error) {
	if n := strings.Count(text, m.Before); n != 1 {
		return "", fmt.Errorf("mutant %s: %s has %d places that read %q, not 1: adapt Before to what the file says now",
			m.Name, m.File, n, m.Before)
	}
	return strings.Replace(text, m.Before, m.After, 1), nil
}

// plant writes the change into a tree, and returns what takes it out again.
func (m mutant) plant(root string) (revert func() error, err error) {
	path := filepath.Join(root, m.File)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("mutant %s: %w", m.Name, err)
	}
	changed, err := m.apply(string(text))
	if err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(path, text, 0o600) }, os.WriteFile(path, []byte(changed), 0o600)
}
