package redistest

import "testing"

// ShortRace tells whether this is the short run under the race detector, which is that of .ci/run: "make race" makes
// the full one. What costs much and shows nothing of goroutines that a part of it would not is cut short in it.
func ShortRace() bool { return RaceDetector && testing.Short() }

// Volume is how much of something a test does: many, or few in the short run under the race detector. It is for random
// runs, deaths at each call and the like, where each one has the same goroutines as the others.
func Volume(many, few int) int {
	if ShortRace() {
		return few
	}
	return many
}

// Some are all of them, or the first and every fourth after it in the short run under the race detector.
func Some[T any](all []T) []T { return some(all, ShortRace()) }

// SomeOn are all of them on a real Redis, and some on the embedded one, which takes several times as long for the same
// scripts: for deaths at each call of something, with a world of its own for each. Under the race detector it is Some.
func SomeOn[T any](s Server, all []T) []T {
	return some(all, ShortRace() || s.Embedded() != nil && !RaceDetector)
}

func some[T any](all []T, few bool) []T {
	if !few {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += 4 {
		some = append(some, all[i])
	}
	return some
}

// SkipInShortRace leaves a test to all runs but the short one under the race detector, and says why.
func SkipInShortRace(t testing.TB, reason string) {
	t.Helper()
	if ShortRace() {
		t.Skip(LeftByRace + ": " + reason)
	}
}
