package subscription_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/subscription"
)

// now are the names that are served.
func now(s *subscription.Served) []string {
	names, _ := s.Now()
	return names
}

func all(string) bool { return true }

func TestWhatIsServedChanges(t *testing.T) {
	t.Parallel()
	var s subscription.Served
	assert.Empty(t, now(&s))
	assert.Nil(t, s.Withdrawn("a"), "it is not open yet")
	s.Open([]string{"b", "a", "c"}, func(name string) bool { return name != "c" })
	assert.Equal(t, []string{"a", "b"}, now(&s))
	_, before := s.Now()
	flag := s.Withdrawn("a")
	version := s.Change([]string{"a", "unknown"}, false)
	assert.Greater(t, version, before)
	assert.True(t, flag.Load(), "at once")
	assert.Equal(t, []string{"b"}, now(&s))
	s.Change([]string{"a", "c"}, true)
	assert.False(t, flag.Load())
	assert.Equal(t, []string{"a", "b", "c"}, now(&s))
}

func TestWhatWasWantedBeforeTheStartHolds(t *testing.T) {
	t.Parallel()
	var s subscription.Served
	s.Change([]string{"a"}, false)
	s.Change([]string{"c"}, true)
	registered := []string{"a", "b", "c"}
	s.Open(registered, func(name string) bool { return name != "c" })
	assert.Equal(t, []string{"b", "c"}, now(&s))
	flag := s.Withdrawn("b")
	s.Change([]string{"b"}, false)
	s.Open(registered, all) // a start may fail, and be tried again
	assert.NotSame(t, flag, s.Withdrawn("b"))
	assert.Equal(t, []string{"c"}, now(&s))
}

func TestWhatIsHeldIsMeantToBeServed(t *testing.T) {
	t.Parallel()
	var s subscription.Served
	s.Open([]string{"a", "b", "c"}, func(name string) bool { return name != "c" })
	s.Hold([]string{"b"})
	assert.Equal(t, []string{"a"}, now(&s))
	assert.Equal(t, []string{"a", "b"}, s.Meant())
	assert.True(t, s.IsMeant("b"))
	assert.False(t, s.IsMeant("c"), "nobody wants it")
	s.Change([]string{"b"}, false)
	assert.Equal(t, []string{"a"}, s.Meant())
	assert.False(t, s.IsMeant("b"))
	s.Change([]string{"b"}, true)
	s.Release("b")
	assert.Equal(t, []string{"a", "b"}, now(&s))
	assert.Equal(t, []string{"a", "b"}, s.Meant())
}

func TestTheLaterOfTwoOppositeChangesOverrules(t *testing.T) {
	t.Parallel()
	var s subscription.Served
	s.Open([]string{"a", "b"}, all)
	s.Change([]string{"a", "b"}, false)
	assert.False(t, s.Overruled([]string{"a", "b"}, false))
	s.Change([]string{"b"}, true)
	assert.True(t, s.Overruled([]string{"a", "b"}, false))
	assert.False(t, s.Overruled([]string{"a"}, false))
}

func TestThoseWhoWaitAreToldOfEachMove(t *testing.T) {
	t.Parallel()
	var s subscription.Served
	s.Tell() // nobody waits
	moved := s.Moved()
	assert.Equal(t, moved, s.Moved())
	select {
	case <-moved:
		t.Fatal("nothing has moved")
	default:
	}
	s.Tell()
	<-moved
	assert.NotEqual(t, moved, s.Moved())
}
