// Package lua holds the scripts that change what is in Redis, one file per transition; those of packages beside the framework
// are in directories of their own.
//
// Each file starts with a header that names its KEYS and ARGV in order, what it returns, and its first write, which
// must be a command that Redis never refuses for lack of memory (except in enqueue.lua, which is meant to be refused).
package lua

import (
	"embed"
	"fmt"
)

//go:embed *.lua */*.lua
var files embed.FS

// Source returns the text of the script called name, as Redis gets it: behind the functions of prelude.lua.
func Source(name string) (string, error) {
	prelude, err := files.ReadFile("prelude.lua")
	if err != nil {
		return "", fmt.Errorf("no lua/prelude.lua: %w", err)
	}
	text, err := files.ReadFile(name + ".lua")
	if err != nil {
		return "", fmt.Errorf("no script lua/%s.lua: %w", name, err)
	}
	return string(prelude) + string(text), nil
}
