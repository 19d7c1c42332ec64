// Command luacheck checks the scripts in a directory against the rules for Lua in docs/redis-contract.md:
//
//	go run ./tools/luacheck lua
//
// It looks at what can be seen without running a script; the tests of internal/rdb run them.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := "lua"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	os.Exit(run(dir))
}

func run(dir string) int {
	paths, err := filepath.Glob(filepath.Join(dir, "*.lua"))
	if err != nil || len(paths) == 0 {
		fmt.Fprintf(os.Stderr, "luacheck: no *.lua below %q\n", dir)
		return 1
	}
	status := 0
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, "luacheck:", err)
			return 1
		}
		for _, f := range check(filepath.Base(path), string(source)) {
			fmt.Printf("%s:%d: %s\n", path, f.line, f.message)
			status = 1
		}
	}
	return status
}
