// Package tries bounds how often passwords are tried: by a name at an address, by an address, for a name, and by all.
// The authorizers of the dashboard ask it. It knows no password, and forgets beyond a bound.
package tries

import "time"

// Bucket gives so many at once, and then one in each Every. The zero time is full. One goroutine uses it at a time.
type Bucket struct {
	Most  int
	Every time.Duration
	whole time.Time // when it is full again
}

// Wait returns for how long the bucket gives none; 0 where it gives one now.
func (b *Bucket) Wait(now time.Time) time.Duration {
	if b.whole.Before(now) {
		return 0
	}
	return max(0, b.whole.Sub(now)-time.Duration(b.Most-1)*b.Every)
}

// Take takes one, which Wait has allowed.
func (b *Bucket) Take(now time.Time) {
	if b.whole.Before(now) {
		b.whole = now
	}
	b.whole = b.whole.Add(b.Every)
}

// Return gives one back that was taken.
func (b *Bucket) Return() { b.whole = b.whole.Add(-b.Every) }
