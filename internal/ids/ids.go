// Package ids makes the ids that this library gives itself: of jobs, of workers, of calls and epochs. It knows nothing
// of what they name, and asks nobody whether an id is taken: see package invalid for the ids that a program gives.
package ids

import (
	crypto "crypto/rand"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// letters are those of ids, as they sort.
const letters = "0123456789abcdefghjkmnpqrstvwxyz"

// jobLetters is how many letters the id of a job has.
const jobLetters = 22

// Job makes the id of a job: 22 letters, of which the first eleven are the time in microseconds, nine are 45 random
// bits, and the last two the number of the partition where it lives, 0 here: see InPartition. Ids of one process sort
// in the order in which they were made, those of several as well as their clocks agree: Redis keeps jobs that are due
// at the same time in the order of their ids. (In Redis' allocator 22 bytes cost a third less than a UUID's 36, and
// each id stands there three times.) It may be called concurrently.
func Job(now time.Time) string {
	var id [jobLetters]byte
	at, random := uint64(after(now.UnixMicro())), rand.Uint64()>>(64-45)<<10
	for i := 10; i >= 0; i-- {
		id[i], id[11+i] = letters[at&31], letters[random&31]
		at, random = at>>5, random>>5
	}
	return string(id[:])
}

// partitions is how many partitions the last two letters of an id can name.
const partitions = len(letters) * len(letters)

// InPartition is the id that Job has made, for a job that lives in that partition.
func InPartition(id string, partition int) string {
	if len(id) != jobLetters || partition < 0 || partition >= partitions {
		return id
	}
	return id[:jobLetters-2] + string([]byte{letters[partition/len(letters)], letters[partition%len(letters)]})
}

// PartitionOf is the partition that is named in an id which Job has made. For one that it cannot have made it returns
// false. It may be called concurrently.
func PartitionOf(id string) (partition int, made bool) {
	if len(id) != jobLetters {
		return 0, false
	}
	for i := range jobLetters {
		if places[id[i]] < 0 {
			return 0, false
		}
	}
	return int(places[id[jobLetters-2]])*len(letters) + int(places[id[jobLetters-1]]), true
}

// places are those of bytes among the letters, -1 for the others.
var places = func() (at [256]int8) {
	for i := range at {
		at[i] = int8(strings.IndexByte(letters, byte(i)))
	}
	return at
}()

var last atomic.Int64 // time in an id of a job

// after is the time for an id, which is behind those of all before it, also if the clock was set back.
func after(micros int64) int64 {
	for {
		before := last.Load()
		next := max(micros, before+1)
		if last.CompareAndSwap(before, next) {
			return next
		}
	}
}

// workerBytes makes the id of a worker as long as the hash of claims wants it: see rdb.MinWorkerID.
const workerBytes = 24

// Worker makes the id of a worker.
func Worker() string { return Random(workerBytes) }

// Random is so many bytes that nobody guesses, in hex. It may be called concurrently.
func Random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = crypto.Read(b) // it never fails: see crypto/rand
	return hex.EncodeToString(b)
}

// UUIDLength is how many bytes a UUID has.
const UUIDLength = len("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")

// UUID is a random UUID (RFC 9562, version 4), for those who share a layout with other programs: those expect one. It
// may be called concurrently.
func UUID() string { return uuid.NewString() }

// IsUUID tells whether a text has the form of a UUID, of any version, in small letters or capitals.
func IsUUID(text string) bool {
	return len(text) == UUIDLength && uuid.Validate(text) == nil // which takes other forms as well
}
