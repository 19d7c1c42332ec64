package redisconn

import (
	"crypto/sha1" // EVALSHA names scripts by SHA-1; it protects nothing
	"encoding/hex"

	"github.com/265d0351/work/lua"
)

// Script is a Lua script, sent by its hash and in full only when Redis does not know it.
type Script struct {
	Name   string // "job/enqueue", for lua/job/enqueue.lua
	Source string
	SHA    string
}

// Load reads lua/<name>.lua, which is embedded in the binary: a missing one is a mistake in this package, and the
// variables that are filled from here make it known before any program starts.
func Load(name string) *Script {
	source, err := lua.Source(name)
	if err != nil {
		panic(err)
	}
	sum := sha1.Sum([]byte(source)) // see above
	return &Script{Name: name, Source: source, SHA: hex.EncodeToString(sum[:])}
}
