package subscription_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/subscription"
)

// registered is a listing of a worker that has been registered with these names, and has looked into that.
func registered(names ...string) *subscription.Listing {
	l := &subscription.Listing{}
	l.Expect(names)
	l.Registered("w", names)
	l.TakeNews()
	return l
}

func TestOnlyWhatChangesIsTold(t *testing.T) {
	t.Parallel()
	l := registered("a", "b")
	change, leaving := l.Change("w", []string{"a", "b"}, nil)
	assert.Equal(t, rdb.Serving{}, change)
	assert.False(t, leaving)

	change, _ = l.Change("w", []string{"b", "c"}, nil)
	assert.Equal(t, rdb.Serving{Add: []string{"c"}, Leave: []string{"a"}}, change)
	l.Expect(change.Add)
	assert.Equal(t, []string{"a", "b", "c"}, l.Listed(), "Redis may have taken it, or not")
	assert.True(t, l.Changed("w", change))
	assert.Equal(t, []string{"b", "c"}, l.Listed())
}

func TestANameStaysListedWhileJobsOfItAreHeld(t *testing.T) {
	t.Parallel()
	l := registered("a", "b")
	held := map[string]bool{"a": true}
	change, leaving := l.Change("w", []string{"b"}, held)
	assert.Equal(t, rdb.Serving{}, change)
	assert.True(t, leaving)
	l.SetLeaving(leaving)
	assert.True(t, l.Leaving())
	l.Follow(7)
	assert.False(t, l.Follows(7, []string{"a"}, false), "it is still listed")
	assert.True(t, l.Follows(7, []string{"b"}, true))
	assert.False(t, l.Follows(8, []string{"b"}, true), "of that it has not heard")
	assert.False(t, l.Left([]string{"b"}, held))
	assert.True(t, l.Left([]string{"b"}, nil))
	change, _ = l.Change("w", []string{"b"}, nil)
	assert.True(t, l.Changed("w", change))
	assert.True(t, l.Follows(7, []string{"a"}, false))
}

func TestAnotherIdentityIsToldAll(t *testing.T) {
	t.Parallel()
	l := registered("a", "b")
	change, _ := l.Change("next", []string{"a", "b"}, nil)
	assert.Equal(t, []string{"a", "b"}, change.Add, "it is not known to have any")
	assert.False(t, l.Changed("next", change))
	l.Registered("next", []string{"a"})
	change, _ = l.Change("next", []string{"a", "b"}, nil)
	assert.Equal(t, []string{"b"}, change.Add)
	assert.True(t, l.Changed("next", change))
}

func TestWhatRedisListsIsPutRight(t *testing.T) {
	t.Parallel()
	l := registered("a", "b")
	l.Correct("other", []string{"a", "b"})
	assert.False(t, l.HasNews())
	l.Correct("w", []string{"b"})
	assert.True(t, l.TakeNews())
	assert.False(t, l.TakeNews())
	change, _ := l.Change("w", []string{"a", "b"}, nil)
	assert.Equal(t, rdb.Serving{Add: []string{"a"}}, change)

	l.Correct("w", []string{"a", "b", "stranger"})
	assert.True(t, l.TakeNews(), "it is to be removed")
	change, _ = l.Change("w", []string{"a", "b"}, nil)
	assert.Equal(t, []string{"stranger"}, change.Leave)
}

func TestNewsAreOfNamesThatAreNew(t *testing.T) {
	t.Parallel()
	l := registered("a")
	l.Expect([]string{"a"})
	l.Expect(nil)
	assert.False(t, l.HasNews())
	l.Expect([]string{"b"})
	assert.True(t, l.TakeNews())
	l.Recheck([]string{"b"})
	assert.True(t, l.TakeNews())
	l.Notify()
	assert.True(t, l.HasNews())
}
