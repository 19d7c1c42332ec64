package ledger

import (
	"crypto/sha1" // EVALSHA names scripts by SHA-1; it protects nothing
	"encoding/hex"

	"github.com/265d0351/work/internal/redisconn"
)

// Script is a script of the old side, which only migrate sends.
func Script(name, source string) *redisconn.Script {
	sum := sha1.Sum([]byte(source)) // see above
	return &redisconn.Script{Name: "migrate/" + name, Source: source, SHA: hex.EncodeToString(sum[:])}
}

// One reads a reply that is no array.
func One(command string, value any) *redisconn.Reader {
	return redisconn.NewReader(command, value, []any{value})
}

// Texts reads a reply that is an array of strings.
func Texts(command string, value any) ([]string, error) {
	r := redisconn.NewReader(command, value, []any{value})
	texts := r.Texts()
	return texts, r.Err()
}
