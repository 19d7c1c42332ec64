package work

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestSettingsOfAnEntryAreWhatItsOptionsSay(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_900_000_000_000)
	unique, retries := UniqueOptions{Key: "k"}, 3
	entry := Entry{Options: []EnqueueOption{
		ID("first"), ID("second"), Retries(3), Timeout(time.Minute), Retention(time.Hour), Meta("a", "1"),
		Meta("b", "2"), Tags("x", "y"),
		Front(), Unique(unique), ExpireAt(at), Deadline(at), RetryFor(time.Hour), Completion("ended"),
		WaitReplicas(2, time.Second),
	}}
	want := EntrySettings{
		ID: "second", Retries: &retries, Timeout: time.Minute, Retention: time.Hour,
		Meta: map[string]string{"a": "1", "b": "2"},
		Tags: []string{"x", "y"}, Front: true, Unique: &unique, ExpireAt: at, Deadline: at, RetryFor: time.Hour,
		Completion: "ended",
		Replicas:   2,
	}
	got := entry.Settings()
	assert.Equal(t, want, got)

	got.Tags[0], got.Meta["a"], got.Unique.Key = "changed", "changed", "changed"
	*got.Retries = 9
	assert.Equal(t, want, entry.Settings(), "they are the caller's own")
	assert.Equal(t, EntrySettings{ExpireIn: time.Minute},
		Entry{Options: []EnqueueOption{ExpireAt(at), ExpireIn(time.Minute)}}.Settings())
	assert.Equal(t, EntrySettings{}, Entry{}.Settings())
}

// A field of jobSettings or jobTimes that is added belongs into EntrySettings too.
func TestSettingsOfAnEntryAreComplete(t *testing.T) {
	t.Parallel()
	inner := []string{"chosen", "err", "times", "replicaWait"} // made of others, or of no interest
	fields := reflect.TypeFor[jobSettings]().NumField() - len(inner) + reflect.TypeFor[jobTimes]().NumField()
	assert.Equal(t, fields, reflect.TypeFor[EntrySettings]().NumField())
}
