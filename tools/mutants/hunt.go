package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// result is what became of a mutant.
type result struct {
	mutant
	caught []string // the test functions that saw it; none if it survived
	took   time.Duration
}

// impatience lets tests wait less long for what will not come.
var impatience = mutant{
	Name: "impatience", File: "internal/pooltest/spy.go", Before: "Patience = 2 * time.Minute",
	After: "Patience = 20 * time.Second",
}

// onDisk lets the programs of a tree read the scripts when they start: a change of a script needs no build then.
func onDisk(tree string) []mutant {
	const file = "lua/lua.go"
	read := "func (disk) ReadFile(name string) ([]byte, error) { return os.ReadFile(filepath.Join(" +
		strconv.Quote(filepath.Join(tree, "lua")) + ", name)) }"
	return []mutant{
		{Name: "on disk", File: file, Before: "//go:embed *.lua */*.lua\nvar files embed.FS",
			After: "var files disk\n\ntype disk struct{}\n\n" + read},
		{Name: "on disk", File: file, Before: `"embed"`, After: `"os"; "path/filepath"`},
	}
}

// hunt plants one mutant after the other in a copy of the tree and runs its tests. They must pass without any mutant:
// otherwise a red one says nothing.
func hunt(ctx context.Context, out io.Writer, root string, mutants []mutant) ([]result, error) {
	tree, err := copyTree(root)
	defer func() { _ = os.RemoveAll(tree) }() // it is below the directory for temporary files
	if err != nil {
		return nil, err
	}
	for _, change := range append(onDisk(tree), impatience) {
		if _, err := change.plant(tree); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(out, "without a mutant ...")
	programs := map[string]string{} // by package
	for _, t := range together(mutants) {
		if programs[t.Package], err = t.build(ctx, tree); err != nil {
			return nil, err
		}
		seen, err := t.run(ctx, tree, programs[t.Package])
		if err != nil {
			return nil, err
		}
		if len(seen.failed) > 0 {
			return nil, fmt.Errorf("%s fails in %s without any mutant:\n%s", strings.Join(seen.failed, ", "), t.Package,
				seen.output)
		}
	}
	var results []result
	for i, m := range mutants {
		r, err := m.face(ctx, tree, programs)
		if err != nil {
			return nil, err
		}
		what := strings.Join(r.caught, ", ")
		if what == "" {
			what = "SURVIVED"
		}
		fmt.Fprintf(out, "%3d/%d %-28s %4.0f s  %s\n", i+1, len(mutants), m.Name, r.took.Seconds(), what)
		results = append(results, r)
	}
	return results, nil
}

// face runs the tests of a mutant until some see it, by the programs that are there if it is one of a script.
func (m mutant) face(ctx context.Context, tree string, programs map[string]string) (r result, err error) {
	r.mutant = m
	revert, err := m.plant(tree)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, revert()) }()
	begun := time.Now()
	for _, t := range m.Tests {
		program := programs[t.Package]
		if !strings.HasSuffix(m.File, ".lua") {
			program = ""
		}
		seen, err := t.run(ctx, tree, program)
		if err != nil {
			return r, fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		if len(seen.failed) > 0 {
			r.caught = seen.failed
			slices.Sort(r.caught) // in which order they failed is a matter of chance
			break
		}
	}
	r.took = time.Since(begun)
	return r, nil
}

// together makes one entry for each package of all tests that the mutants need.
func together(mutants []mutant) []tests {
	var union []tests
	for _, m := range mutants {
		for _, t := range m.Tests {
			at := slices.IndexFunc(union, func(u tests) bool { return u.Package == t.Package })
			if at < 0 {
				at = len(union)
				union = append(union, tests{Package: t.Package})
			}
			union[at].Names = append(union[at].Names, t.Names...)
		}
	}
	for _, u := range union {
		slices.Sort(u.Names)
	}
	for i := range union {
		union[i].Names = slices.Compact(union[i].Names)
	}
	return union
}

// survivors is an error that names those that no test saw.
func survivors(results []result) error {
	var names []string
	for _, r := range results {
		if len(r.caught) == 0 {
			names = append(names, r.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return fmt.Errorf("no test saw %s: write the test that is missing", strings.Join(names, ", "))
}
