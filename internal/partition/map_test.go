package partition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
)

func TestAMapIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	m := partitiontest.Divided(7, 3)
	m.States[1] = partition.Draining
	m.Moving = map[int]int{4: 2, 9: 0}
	m.Bound, m.Binding, m.Tracking, m.Wanted = []string{"a", "b"}, []string{"c"}, true, 2
	read, err := partition.Decode(m.Encode())
	require.NoError(t, err)
	assert.Equal(t, m, read)
	_, err = partition.Decode([]byte(`{"version":1,"later":{"what a newer program says":1}}`))
	require.NoError(t, err, "what is not known is left to newer programs")
}

// Nobody goes by a map that cannot be: jobs would be stored where nobody looks for them.
func TestAMapThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	buckets := func(at string) string { return "[" + strings.Repeat("0,", partition.Buckets-1) + at + "]" }
	for name, row := range map[string]struct{ text, says string }{
		"no JSON":         {`7`, "cannot be read"},
		"cut off":         {`{"version":7,"sta`, "cannot be read"},
		"no version":      {`{}`, "versions begin with 1"},
		"a version below": {`{"version":-1}`, "versions begin with 1"},
		"too many partitions": {`{"version":7,"states":[` + strings.Repeat(`"open",`, 64) + `"open"]}`,
			"65 partitions"},
		"too many wanted":      {`{"version":7,"wanted":65}`, "65 partitions are wanted"},
		"an unknown state":     {`{"version":7,"states":["open","ajar"]}`, `partition 1 is "ajar"`},
		"the first one closed": {`{"version":7,"states":["closed","open"]}`, "partition 0 is closed"},
		"few buckets":          {`{"version":7,"states":["open"],"buckets":[0,0]}`, "2 buckets instead of 256"},
		"a bucket nowhere": {`{"version":7,"states":["open"],"buckets":` + buckets("1") + `}`,
			"bucket 255 is in partition 1"},
		"a bucket below": {`{"version":7,"buckets":` + buckets("-1") + `}`, "bucket 255 is in partition -1"},
		"moves to nowhere": {`{"version":7,"states":["open"],"moving":{"3":1}}`,
			"bucket 3 is on its way to partition 1"},
		"moves what there isn't": {`{"version":7,"moving":{"256":0}}`, "bucket 256"},
		"names in disorder":      {`{"version":7,"bound":["b","a"]}`, "not sorted"},
		"coming ones likewise":   {`{"version":7,"binding":["b","a"]}`, "not sorted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := partition.Decode([]byte(row.text))
			require.ErrorContains(t, err, row.says)
		})
	}
}

func TestWhatAPartitionIsThereFor(t *testing.T) {
	t.Parallel()
	m := &partition.Map{Version: 1, States: []partition.State{partition.Open, partition.Draining, partition.Closed}}
	assert.Equal(t, 3, m.Len())
	assert.False(t, m.Single())
	assert.Equal(t, []int{0}, m.Open())
	assert.Equal(t, []int{0, 1}, m.Served())
	assert.Equal(t, []int{2}, m.In(partition.Closed))
	assert.Equal(t, partition.Closed, m.State(3), "it has none of that number")

	undivided := &partition.Map{}
	assert.Equal(t, 1, undivided.Len())
	assert.True(t, undivided.Single())
	assert.Equal(t, []int{0}, undivided.Open())
	assert.Equal(t, []int{0}, undivided.Served())
	assert.Equal(t, partition.Closed, undivided.State(1))
	assert.Equal(t, 0, undivided.At(255))
	assert.Equal(t, partition.Home{}, undivided.Home(partition.Job{Name: "a", Lock: "l", Given: "i"}))
	assert.Equal(t, partition.Home{}, undivided.OfSchedule("nightly", partition.Job{Name: "a"}))
}

func TestACloneIsAMapOfItsOwn(t *testing.T) {
	t.Parallel()
	m := partitiontest.Divided(7, 2)
	m.Moving, m.Bound, m.Binding = map[int]int{1: 0}, []string{"a"}, []string{"b"}
	before := string(m.Encode())
	c := m.Clone()
	c.Version, c.States[0], c.Buckets[3], c.Moving[2], c.Bound[0], c.Binding[0] = 8, partition.Draining, 0, 1, "x", "y"
	assert.Equal(t, before, string(m.Encode()))
	assert.NotEqual(t, before, string(c.Encode()))
}

// Buckets are written nowhere but here and in every Redis: another hash would lose what is bound.
func TestBucketsAreFixedForEver(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][4]int{ // first bytes of the SHA-256 of n:, l:, i: and s: with the text behind
		"":         {31, 149, 112, 5},
		"greet":    {132, 25, 54, 82},
		"create_a": {43, 102, 172, 10},
		"0123456789abcdef0123456789abcdef01234567": {79, 57, 124, 170},
		"größer": {21, 187, 103, 143},
	} {
		got := [4]int{partition.BucketOfName(text), partition.BucketOfLock(text), partition.BucketOfID(text),
			partition.BucketOfSchedule(text)}
		assert.Equal(t, want, got, text)
	}
	for _, row := range []struct {
		name, key string
		want      int // the first byte of the SHA-1 of k:, the name, a NUL and the key
	}{{"sync", "customer-42", 189}, {"mail", "customer-42", 24}, {"größer", "größer", 160}} {
		assert.Equal(t, row.want, partition.BucketOfKey(row.name, row.key), "%s of %s", row.key, row.name)
	}
}

// The lock of a job with a key names the bucket of that. What only looks so is a digest as any.
func TestALockOfAKeyIsInItsBucket(t *testing.T) {
	t.Parallel()
	lock := partition.LockOfKey("digest", "sync", "customer-42")
	assert.Equal(t, "digest@189", lock)
	assert.Equal(t, partition.BucketOfKey("sync", "customer-42"), partition.BucketOfLock(lock))
	for text, want := range map[string]int{"digest@256": 224, "digest@": 219, "digest@x": 178} {
		assert.Equal(t, want, partition.BucketOfLock(text), text)
	}
}

func TestAJobLivesWhereWhatBindsItDoes(t *testing.T) {
	t.Parallel()
	m := partitiontest.Divided(7, 4)
	m.Bound, m.Binding = []string{"limited", "mail"}, []string{"coming"}
	name, coming := partition.BucketOfName("limited"), partition.BucketOfName("coming")
	lock, id := partition.BucketOfLock("digest"), partition.BucketOfID("mine")
	key := partition.BucketOfKey("free", "customer-42")
	for _, row := range []struct {
		what   string
		job    partition.Job
		bound  bool
		bucket int
		moving bool
	}{
		{"a limited name goes first", partition.Job{Name: "limited", Key: "customer-42", Lock: "digest", Given: "mine"},
			true, name, false},
		{"one that becomes limited is waited for", partition.Job{Name: "coming", Lock: "digest"}, true, coming, true},
		{"then a key", partition.Job{Name: "free", Key: "customer-42", Lock: "digest", Given: "mine"}, true, key,
			false},
		{"then a lock", partition.Job{Name: "free", Lock: "digest", Given: "mine"}, true, lock, false},
		{"then an id", partition.Job{Name: "free", Given: "mine"}, true, id, false},
		{"else anywhere", partition.Job{Name: "free"}, false, 0, false},
	} {
		home := m.Home(row.job)
		assert.Equal(t, row.bound, home.Bound, row.what)
		assert.Equal(t, row.bucket, home.Bucket, row.what)
		assert.Equal(t, row.moving, home.Moving, row.what)
		if row.bound {
			assert.Equal(t, row.bucket%4, home.Partition, row.what)
			assert.NotEmpty(t, home.By, row.what)
		}
	}
	m.Moving = map[int]int{lock: 0}
	home := m.Home(partition.Job{Name: "free", Lock: "digest"})
	assert.True(t, home.Moving)
	assert.Equal(t, lock%4, home.Partition, "where it still is")
}

func TestAScheduleLivesWithItsJobs(t *testing.T) {
	t.Parallel()
	m := partitiontest.Divided(7, 4)
	m.Bound = []string{"limited"}
	assert.Equal(t, partition.BucketOfName("limited"), m.OfSchedule("nightly", partition.Job{Name: "limited"}).Bucket)
	assert.Equal(t, partition.BucketOfLock("digest"),
		m.OfSchedule("nightly", partition.Job{Name: "free", Lock: "digest"}).Bucket)
	assert.Equal(t, partition.BucketOfKey("free", "customer-42"),
		m.OfSchedule("nightly", partition.Job{Name: "free", Key: "customer-42"}).Bucket)
	home := m.OfSchedule("nightly", partition.Job{Name: "free", Given: "mine"})
	assert.True(t, home.Bound, "it stands in one place, though its jobs might in any")
	assert.Equal(t, partition.BucketOfSchedule("nightly"), home.Bucket)
}

// Of an id nobody can tell whether it was given: one that looks as if a program had made it is looked for there.
func TestWhereAnIDIsLikely(t *testing.T) {
	t.Parallel()
	m := partitiontest.Divided(7, 4)
	made := ids.InPartition("01j8zq7w1mf5c2k9t0x4aa", 3)
	assert.Equal(t, 3, m.Likely(made))
	beyond := ids.InPartition(made, 9)
	assert.Equal(t, partition.BucketOfID(beyond)%4, m.Likely(beyond), "there is no such partition")
	assert.Equal(t, partition.BucketOfID("order-7")%4, m.Likely("order-7"))
	assert.Equal(t, 0, (&partition.Map{}).Likely(made))
}

func TestNamesOfPartitions(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "shop", partition.Namespace("shop", 0), "as it was before it was divided")
	assert.Equal(t, "shop/11", partition.Namespace("shop", 11))
}
