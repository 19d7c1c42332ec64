// Command luacheck checks the scripts in a directory against the rules for Lua in docs/contributing/redis-contract.md:
//
//	go run ./tools/luacheck lua
//
// It looks at what can be seen without running a script; the tests of internal/rdb run them.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yuin/gopher-lua/parse"
)

func main() {
	dir := "lua"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	os.Exit(run(dir))
}

func run(dir string) int {
	files, err := scripts(os.DirFS(dir))
	if err != nil || len(files) == 0 {
		fmt.Fprintf(os.Stderr, "luacheck: no *.lua below %q\n", dir)
		return 1
	}
	shared, err := preludeOf(os.DirFS(dir))
	if err != nil {
		fmt.Fprintln(os.Stderr, "luacheck:", err)
		return 1
	}
	status := 0
	for _, file := range files {
		path := filepath.Join(dir, file)
		source, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "luacheck:", err)
			return 1
		}
		for _, f := range check(file, string(source), shared) {
			fmt.Printf("%s:%d: %s\n", path, f.line, f.message)
			status = 1
		}
	}
	return status
}

// preludeOf returns the functions of the prelude, none where there is none. One that is no Lua is a finding of check.
func preludeOf(dir fs.FS) (functions, error) {
	source, err := fs.ReadFile(dir, preludeName+".lua")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	chunk, err := parse.Parse(bytes.NewReader(source), preludeName)
	if err != nil {
		return nil, nil
	}
	return named(chunk), nil
}

// scripts are the files in the directory and in those directly below it, as the loader embeds them.
func scripts(dir fs.FS) ([]string, error) {
	files, err := fs.Glob(dir, "*.lua")
	if err != nil {
		return nil, err
	}
	below, err := fs.Glob(dir, "*/*.lua")
	return append(files, below...), err
}
