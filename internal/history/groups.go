package history

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/265d0351/work/internal/rdb"
)

// The bounds of groups of errors.
const (
	MaxGroups       = 1000 // of one name; the janitor removes those that have not grown for the longest time
	MaxGroupMessage = 256  // bytes
	MaxUntoldGroups = 200  // of one worker, until the next heartbeat
)

// OtherErrors is the message of the group of a name that counts what there was no room for.
const OtherErrors = "(other errors: there are too many kinds)"

// Digest names the group of the errors of one name that are of one kind: see [Kind].
func Digest(name, kind string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + kind))
	return hex.EncodeToString(sum[:16])
}

// InGroup tells whether one of these errors of jobs of one name belongs to the group. An empty one belongs to none.
func InGroup(digest, name string, errors ...string) bool {
	for _, text := range errors {
		if text != "" && Digest(name, Kind(text)) == digest {
			return true
		}
	}
	return false
}

// errorCounts are errors that were counted and not reported yet, by digest.
type errorCounts map[string]*rdb.ErrorCount

func (c errorCounts) count(name, text, id string) {
	kind := Kind(text)
	digest := Digest(name, kind)
	if c[digest] == nil && len(c) >= MaxUntoldGroups {
		c.lump(name, id, 1)
		return
	}
	c.add(rdb.ErrorCount{Digest: digest, Name: name, Message: kind, Sample: id, Count: 1})
}

// lump counts errors that have no group of their own.
func (c errorCounts) lump(name, id string, n int64) {
	c.add(rdb.ErrorCount{Digest: Digest(name, OtherErrors), Name: name, Message: OtherErrors, Sample: id, Count: n,
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
