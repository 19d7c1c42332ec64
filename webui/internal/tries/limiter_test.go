package tries

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const password = "correct horse"

// door is a limiter with a clock of the test, before one password.
type door struct {
	*Limiter
	at time.Time
}

func newDoor() *door {
	d := &door{at: time.Now()}
	d.Limiter = New(func() time.Time { return d.at })
	return d
}

// ask is what becomes of a try.
func (d *door) ask(name, given, from string) string {
	in, wait := d.Let(Try{Name: name, Password: given, Remote: from}, func() bool { return given == password })
	switch {
	case in:
		return "in"
	case wait > 0:
		return wait.String()
	}
	return "wrong"
}

func TestAWrongPasswordIsTriedFiveTimes(t *testing.T) {
	t.Parallel()
	d := newDoor()
	for range AtOnce {
		require.Equal(t, "wrong", d.ask("ann", "guess", "10.0.0.1:1"))
	}
	assert.Equal(t, "12s", d.ask("ann", "guess", "10.0.0.1:2"), "another port is the same address")
	assert.Equal(t, "12s", d.ask("ann", password, "10.0.0.1:2"), "what is right does not show")
	assert.Equal(t, "wrong", d.ask("bob", "guess", "10.0.0.1:1"), "another name")
	assert.Equal(t, "wrong", d.ask("ann", "guess", "10.0.0.2:1"), "another address")
	d.at = d.at.Add(Every)
	assert.Equal(t, "in", d.ask("ann", password, "10.0.0.1:1"))
	assert.Equal(t, "wrong", d.ask("ann", "guess", "10.0.0.1:1"), "what was right does not count as a try")
	assert.Equal(t, "12s", d.ask("ann", "guess", "10.0.0.1:1"))
}

func TestAnAddressANameAndAllHaveBounds(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		most      int
		who, from func(n int) string
		every     time.Duration
	}{
		"many names": {ofAddress, func(n int) string { return fmt.Sprint("user", n) },
			func(int) string { return "10.0.0.1:1" }, everyThere},
		"many names of a network": {ofAddress, func(n int) string { return fmt.Sprint("user", n) },
			func(n int) string { return fmt.Sprintf("[fd00::%x]:1", n+1) }, everyThere},
		"many addresses": {ofName, func(int) string { return "ann" },
			func(n int) string { return fmt.Sprintf("10.0.%d.1:1", n) }, everyName},
		"many of both": {ofAll, func(n int) string { return fmt.Sprint("user", n) },
			func(n int) string { return fmt.Sprintf("10.0.%d.1:1", n) }, everyOfAll},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDoor()
			for n := range row.most {
				require.Equal(t, "wrong", d.ask(row.who(n), "guess", row.from(n)))
			}
			assert.Equal(t, row.every.String(), d.ask(row.who(row.most), password, row.from(row.most)))
		})
	}
}

// Who comes in is not held up by what others try, but one address does not give others as many tries as they like.
func TestWhoIsInStaysIn(t *testing.T) {
	t.Parallel()
	d := newDoor()
	require.Equal(t, "in", d.ask("ann", password, "10.0.0.1:1"))
	for range AtOnce + mostTurned {
		d.ask("ann", "guess", "10.0.0.2:1")
	}
	assert.Equal(t, "in", d.ask("ann", password, "10.0.0.1:1"), "elsewhere")
	for range AtOnce + mostTurned - 1 {
		d.ask("ann", "guess", "10.0.0.1:1")
	}
	assert.Equal(t, "in", d.ask("ann", password, "10.0.0.1:1"))
	d.ask("ann", "guess", "10.0.0.1:1")
	assert.Equal(t, "12s", d.ask("ann", password, "10.0.0.1:1"), "a guess that is right would show")
	d.at = d.at.Add(Every)
	assert.Equal(t, "in", d.ask("ann", password, "10.0.0.1:1"))
	assert.Equal(t, "in", d.ask("ann", password, "10.0.0.1:1"))
}

// While somebody comes and goes, whoever guesses under their name at their address has few guesses of which the answer
// would show that one is right: in an hour 5 that are compared, 50 beside who is in, and of each one in 12 s.
func TestWhoIsInGivesNobodyGuesses(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []int{2, 10} {
		d, guesses := newDoor(), 0
		for second := range 3600 {
			if second%2 == 0 {
				d.ask("ann", password, "10.0.0.1:1")
			}
			for range perSecond {
				d.at = d.at.Add(time.Second / time.Duration(perSecond))
				person := d.in["10.0.0.1 ann"]
				open := person != nil && person.turned.Wait(d.at) == 0
				if d.ask("ann", "guess", "10.0.0.1:1") == "wrong" || open {
					guesses++
				}
			}
		}
		assert.LessOrEqual(t, guesses, AtOnce+mostTurned+2*int(time.Hour/Every), perSecond)
		d.at = d.at.Add(2 * Every)
		assert.Equal(t, "in", d.ask("ann", password, "10.0.0.1:1"))
	}
}

// A password that is right is compared once, and again where it is compared with something else.
func TestWhatIsRightIsComparedOnce(t *testing.T) {
	t.Parallel()
	d, compared := newDoor(), 0
	ask := func(against string) {
		in, _ := d.Let(Try{Name: "ann", Password: password, Remote: "10.0.0.1:1", Against: against},
			func() bool { compared++; return true })
		assert.True(t, in)
	}
	for range 3 {
		ask("a hash")
	}
	assert.Equal(t, 1, compared)
	ask("another hash")
	assert.Equal(t, 2, compared)
}

func TestWhatIsKeptOfTriesIsBounded(t *testing.T) {
	t.Parallel()
	d := newDoor()
	for n := range mostKept + 10 {
		d.at = d.at.Add(everyOfAll)
		who, from := fmt.Sprint("user", n), fmt.Sprintf("10.%d.%d.%d:1", n>>16, n>>8&255, n&255)
		require.Equal(t, "wrong", d.ask(who, "guess", from))
		d.at = d.at.Add(everyOfAll)
		require.Equal(t, "in", d.ask(who, password, from))
		require.LessOrEqual(t, len(d.buckets), mostKept+2)
		require.LessOrEqual(t, len(d.in), mostKept)
	}
	for n := range mostKept { // all of them have something to wait for
		b := d.bucket(fmt.Sprint("x", n), 1, time.Hour)
		b.Take(d.at)
	}
	d.ask("ann", "guess", "10.0.0.1:1")
	assert.LessOrEqual(t, len(d.buckets), 3)
}
