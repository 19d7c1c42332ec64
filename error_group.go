package work

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/265d0351/work/internal/rdb"
)

// The bounds of groups of errors.
const (
	maxErrorGroups  = 1000 // of one name; the janitor removes those that have not grown for the longest time
	maxGroupMessage = 256  // bytes
	maxUntoldGroups = 200  // of one worker, until the next heartbeat
)

// otherErrors is the message of the group of a name that counts what there was no room for.
const otherErrors = "(other errors: there are too many kinds)"

// errorDigest is what errors of one name with the same message, but for what errorKind leaves out, have in common.
func errorDigest(name, kind string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + kind))
	return hex.EncodeToString(sum[:16])
}

// errorCounts are errors that were counted and not told yet, by digest.
type errorCounts map[string]*rdb.ErrorCount

func (c errorCounts) count(name, text, id string) {
	kind := errorKind(text)
	digest := errorDigest(name, kind)
	if c[digest] == nil && len(c) >= maxUntoldGroups {
		c.lump(name, id, 1)
		return
	}
	c.add(rdb.ErrorCount{Digest: digest, Name: name, Message: kind, Sample: id, Count: 1})
}

// lump counts errors that have no group of their own.
func (c errorCounts) lump(name, id string, n int64) {
	c.add(rdb.ErrorCount{Digest: errorDigest(name, otherErrors), Name: name, Message: otherErrors, Sample: id, Count: n,
		Must: true})
}

func (c errorCounts) add(e rdb.ErrorCount) {
	if known := c[e.Digest]; known != nil {
		known.Count += e.Count
		known.Sample = e.Sample
		return
	}
	c[e.Digest] = &e
}

// take takes out some, at most so many.
func (c errorCounts) take(most int) (taken []rdb.ErrorCount) {
	for digest, e := range c {
		if len(taken) == most {
			break
		}
		taken = append(taken, *e)
		delete(c, digest)
	}
	return taken
}

// lastError is the text of the last failure; empty before the first.
func (t *trail) lastError() string {
	if n := len(t.Errors); n > 0 {
		return t.Errors[n-1].Error
	}
	return ""
}

// inErrorGroup tells whether the last error of a job, or the reason for which it died, is of that group.
func inErrorGroup(name string, t trail, digest string) bool {
	for _, text := range []string{t.lastError(), t.Reason} {
		if text != "" && errorDigest(name, errorKind(text)) == digest {
			return true
		}
	}
	return false
}
