package tries

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"
)

// How many wrong passwords may be tried. By a name at an address they are few, since people mistype; the other bounds
// are for guesses of many names, and from many addresses.
const (
	AtOnce     = 5                // by a name at an address,
	Every      = 12 * time.Second // and then one in this time
	ofAddress  = 20
	everyThere = 3 * time.Second
	ofName     = 50
	everyName  = 5 * time.Second
	ofAll      = 100
	everyOfAll = time.Second
)

const (
	mostKept = 10_000 // buckets, and people who have come in; beyond that they are forgotten
	mostName = 200    // bytes of a name
	// mostTurned is how many rejected tries leave somebody who is in alone, and then one in Every: a guess that is
	// right would be let in like them. After more they are limited too.
	mostTurned = 50
)

// Try is somebody who says that they are somebody.
type Try struct {
	Name, Password string
	Remote         string // address of the connection, with its port
	Against        string // what the password is compared with; another one is another password
}

// Limiter counts tries. All methods may be called concurrently.
type Limiter struct {
	now func() time.Time
	key []byte // of what is remembered of passwords

	mu      sync.Mutex
	all     Bucket
	buckets map[string]*Bucket
	in      map[string]*known // who has come in, by name and address
}

// known is somebody who has come in: the password is compared once, which can take long, and not for each request.
type known struct {
	digest string
	turned Bucket // of tries that were turned away under this name and address
}

// New makes a limiter. now is the clock of this machine.
func New(now func() time.Time) *Limiter {
	return &Limiter{now: now, key: []byte(rand.Text()), all: Bucket{Most: ofAll, Every: everyOfAll},
		buckets: map[string]*Bucket{}, in: map[string]*known{}}
}

// Let reports whether a try is right, or for how long the next one must wait. It calls right unless somebody has come
// in with the same from that address, or too much was tried. One that must wait is not compared: whether it was right
// does not show.
func (l *Limiter) Let(t Try, right func() bool) (in bool, wait time.Duration) {
	name, host := t.Name[:min(len(t.Name), mostName)], Network(t.Remote)
	who, digest := host+" "+name, l.digest(t)
	taken, in, wait := l.take(who, host, name, digest)
	if in || wait > 0 || !right() {
		return in, wait
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, bucket := range taken {
		bucket.Return()
	}
	if person := l.in[who]; person != nil {
		person.digest = digest
		return true, 0
	}
	if len(l.in) >= mostKept {
		clear(l.in)
	}
	l.in[who] = &known{digest: digest, turned: Bucket{Most: mostTurned, Every: Every}}
	return true, 0
}

func (l *Limiter) take(who, host, name, digest string) (taken []*Bucket, in bool, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	person, now := l.in[who], l.now()
	if person != nil && person.turned.Wait(now) == 0 && hmac.Equal([]byte(person.digest), []byte(digest)) {
		return nil, true, 0
	}
	l.tidy(now)
	taken = []*Bucket{&l.all, l.bucket(who, AtOnce, Every), l.bucket("at "+host, ofAddress, everyThere),
		l.bucket("of "+name, ofName, everyName)}
	for _, bucket := range taken {
		wait = max(wait, bucket.Wait(now))
	}
	if wait > 0 {
		if person != nil && person.turned.Wait(now) == 0 {
			person.turned.Take(now)
		}
		return nil, false, wait
	}
	for _, bucket := range taken {
		bucket.Take(now)
	}
	return taken, false, 0
}

func (l *Limiter) bucket(key string, most int, every time.Duration) *Bucket {
	b := l.buckets[key]
	if b == nil {
		b = &Bucket{Most: most, Every: every}
		l.buckets[key] = b
	}
	return b
}

// tidy forgets buckets that are full, and all where that makes no room: the bound of all of them stays.
func (l *Limiter) tidy(now time.Time) {
	if len(l.buckets) < mostKept {
		return
	}
	for key, bucket := range l.buckets {
		if !bucket.whole.After(now) {
			delete(l.buckets, key)
		}
	}
	if len(l.buckets) >= mostKept {
		clear(l.buckets)
	}
}

// digest is what is remembered of a password, which is in no memory after the request.
func (l *Limiter) digest(t Try) string {
	mac := hmac.New(sha256.New, l.key)
	for _, part := range []string{t.Name, t.Password, t.Against} {
		sum := sha256.Sum256([]byte(part)) // of one length, so that two tries are never one
		mac.Write(sum[:])
	}
	return string(mac.Sum(nil))
}

// Network is who an address is of: a host of IPv6 has as many as it likes.
func Network(remote string) string {
	peer, err := netip.ParseAddrPort(remote)
	if err != nil {
		return remote[:min(len(remote), mostName)]
	}
	addr := peer.Addr().Unmap().WithZone("")
	if addr.Is6() {
		prefix, _ := addr.Prefix(64) // it has so many bits
		addr = prefix.Addr()
	}
	return addr.String()
}
