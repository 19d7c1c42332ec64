package partition

import (
	"crypto/sha1"
	"crypto/sha256"
	"slices"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/needs"
)

// Buckets is how many there are. What is bound to one partition belongs to a bucket for ever, by a hash of its name,
// and buckets belong to partitions. So what is bound moves in parts of a fixed size.
const Buckets = 256

// Job is what decides where a job lives.
type Job struct {
	Name  string // its name, or its queue: what it needs makes no difference
	Key   string // on whose behalf it is done; empty where it has none
	Lock  string // the digest of its lock; empty where it has none
	Given string // its id, if the program has chosen it; else empty
}

// Home is where a job lives. The zero value is anywhere.
type Home struct {
	Bound     bool   // it lives in one partition; else it may be in any that is open
	Partition int    // where it is bound
	Bucket    int    // that it belongs to
	Moving    bool   // the bucket or the name is on its way: nothing of it is stored until it is there
	By        string // what binds it, for people: "its name is limited"
}

// Home is where a job lives: where its name does, if that is limited, else where its key does, else where its lock
// does, else where its id does, if that was given, else anywhere. Two jobs that have one lock have one key, or none.
func (m *Map) Home(job Job) Home {
	if m.Single() {
		return Home{}
	}
	job.Name = needs.Name(job.Name)
	switch binding := contains(m.Binding, job.Name); {
	case binding || contains(m.Bound, job.Name):
		home := m.of(BucketOfName(job.Name), "its name is limited")
		home.Moving = home.Moving || binding
		return home
	case job.Key != "":
		return m.of(BucketOfKey(job.Name, job.Key), "it has a key")
	case job.Lock != "":
		return m.of(BucketOfLock(job.Lock), "it is unique")
	case job.Given != "":
		return m.of(BucketOfID(job.Given), "its id was given")
	}
	return Home{}
}

// Limited tells whether the jobs of a name live in one partition, or will, since it is limited.
func (m *Map) Limited(name string) bool { return contains(m.Binding, name) || contains(m.Bound, name) }

// OfSchedule is where a schedule lives, with the jobs that it stores.
func (m *Map) OfSchedule(id string, job Job) Home {
	job.Given = ""
	home := m.Home(job)
	if !home.Bound && !m.Single() {
		return m.of(BucketOfSchedule(id), "its schedule is there")
	}
	return home
}

// OfFlow is where a flow is stored that is new, unless the name of a member binds it. It stays there, whatever becomes
// of its bucket: who looks for one asks all partitions.
func (m *Map) OfFlow(id string) Home {
	if m.Single() {
		return Home{}
	}
	return m.of(BucketOfFlow(id), "its flow is there")
}

func (m *Map) of(bucket int, by string) Home {
	_, moving := m.Moving[bucket]
	return Home{Bound: true, Partition: m.At(bucket), Bucket: bucket, Moving: moving, By: by}
}

// Likely is the partition that most likely has a job of which only the id is known. It is a hint: a job with a given id
// may live where its name or its lock does, and any may have been moved.
func (m *Map) Likely(id string) int {
	if m.Single() {
		return 0
	}
	if at := strings.IndexByte(id, '/'); at > 0 {
		return m.At(BucketOfFlow(id[:at])) // a member of a flow, perhaps of one that is in it
	}
	if i, made := ids.PartitionOf(id); made && i < m.Len() {
		return i
	}
	return m.At(BucketOfID(id))
}

// The buckets of what binds a job. What is hashed tells them apart, and never changes.

// BucketOfName is the bucket of a name that is limited.
func BucketOfName(name string) int { return bucket("n:", name) }

// BucketOfKey is the bucket of a key of a name. The same key has others with other names, since it has turns, limits
// and an order with each name by itself, and so one customer's jobs need not all be in one partition. It is made of
// SHA-1, which scripts can make as well: they know of a job its key and not its bucket.
func BucketOfKey(name, key string) int {
	sum := sha1.Sum([]byte("k:" + name + "\x00" + key))
	return int(sum[0])
}

// LockOfKey is the digest of a lock of a job that has a key. It names the bucket of the key, so that the lock is where
// the key is, also when the job has ended, and nobody knows its key any more.
func LockOfKey(digest, name, key string) string {
	return digest + "@" + strconv.Itoa(BucketOfKey(name, key))
}

// BucketOfLock is the bucket of the digest of a lock.
func BucketOfLock(digest string) int {
	if at := strings.LastIndexByte(digest, '@'); at >= 0 {
		if named, err := strconv.ParseUint(digest[at+1:], 10, 8); err == nil {
			return int(named)
		}
	}
	return bucket("l:", digest)
}

// BucketOfID is the bucket of an id that a program has chosen.
func BucketOfID(id string) int { return bucket("i:", id) }

// BucketOfSchedule is the bucket of a schedule whose jobs are bound by nothing else.
func BucketOfSchedule(id string) int { return bucket("s:", id) }

// BucketOfFlow is the bucket of a flow none of whose members is bound.
func BucketOfFlow(id string) int { return bucket("f:", id) }

func bucket(kind, text string) int {
	sum := sha256.Sum256([]byte(kind + text))
	return int(sum[0])
}

func contains(sorted []string, name string) bool {
	_, found := slices.BinarySearch(sorted, name)
	return found
}
