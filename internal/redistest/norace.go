//go:build !race

package redistest

// RaceDetector says that this is the race detector's run. It checks each byte that is read, so a test with very large
// values takes fewer of them then.
const RaceDetector = false
