package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/265d0351/work"
)

// Name is that of the codec, as it stands beside what it has sealed.
const Name = "aes-gcm"

// keyBytes is how long a key is: AES-256.
const keyBytes = 32

// Keys are the keys of a [Sealer].
type Keys struct {
	Seal  string            // the id of the one that seals; "" for a program that only opens
	Known map[string][]byte // all that open, by id, with that one: 32 bytes each, of a good source of randomness
	// Locks is the key of the digests by which jobs that are unique by their args are found to be the same: 32 bytes.
	// It is the same for all programs, and does not rotate with the others: with another one, jobs that wait are not
	// found. Without it such jobs are refused, since a plain digest tells who can guess their args.
	Locks []byte
}

// Sealer is a [work.Codec] that seals. Make it with [New]. Its methods may be called concurrently.
type Sealer struct {
	seal  string
	known map[string]cipher.AEAD
	locks []byte
}

// New makes a Sealer. The keys are copied. The error is a *work.InvalidError that names the key, and quotes none.
func New(keys Keys) (*Sealer, error) {
	s := &Sealer{seal: keys.Seal, known: make(map[string]cipher.AEAD, len(keys.Known)), locks: slices.Clone(keys.Locks)}
	if len(keys.Known) == 0 {
		return nil, mistake("Keys.Known", "empty", "give at least one key")
	}
	if keys.Locks != nil && len(keys.Locks) != keyBytes {
		return nil, mistake("Keys.Locks", fmt.Sprintf("%d bytes long", len(keys.Locks)), "use 32 random bytes")
	}
	for _, id := range slices.Sorted(maps.Keys(keys.Known)) {
		if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, mistake("id of a key", fmt.Sprintf("%.100q", id), "use 1 to 64 printable characters of ASCII")
		}
		if len(keys.Known[id]) != keyBytes {
			return nil, mistake(fmt.Sprintf("key %q", id), fmt.Sprintf("%d bytes long", len(keys.Known[id])),
				"use 32 random bytes")
		}
		block, err := aes.NewCipher(slices.Clone(keys.Known[id]))
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", id, err)
		}
		if s.known[id], err = cipher.NewGCM(block); err != nil {
			return nil, fmt.Errorf("key %q: %w", id, err)
		}
	}
	if keys.Seal != "" && s.known[keys.Seal] == nil {
		return nil, mistake("Keys.Seal", fmt.Sprintf("%.100q", keys.Seal), "name one of Keys.Known")
	}
	return s, nil
}

func mistake(what, value, remedy string) error {
	return &work.InvalidError{What: what, Value: value, Remedy: remedy}
}

// Name is [Name].
func (s *Sealer) Name() string { return Name }

// Encode seals a value: a random nonce, and what AES-GCM makes of it. use is authenticated with it.
func (s *Sealer) Encode(use string, open []byte) (stored []byte, key string, err error) {
	if s.seal == "" {
		return nil, "", nil
	}
	aead := s.known[s.seal]
	stored = make([]byte, aead.NonceSize(), aead.NonceSize()+len(open)+aead.Overhead())
	rand.Read(stored) //lint:ignore errcheck it ends the program rather than return an error
	return aead.Seal(stored, stored, open, additional(use, s.seal)), s.seal, nil
}

// errSealed says no more than it can: AES-GCM does not tell the one from the other.
var errSealed = errors.New("it does not open: another key has this id, it was changed, or it is of another job")

// Decode opens what the key of that id has sealed for that use.
func (s *Sealer) Decode(use string, stored []byte, key string) (open []byte, err error) {
	aead := s.known[key]
	if aead == nil {
		return nil, work.ErrUnknownKey
	}
	if len(stored) < aead.NonceSize()+aead.Overhead() {
		return nil, errSealed
	}
	nonce, rest := stored[:aead.NonceSize()], stored[aead.NonceSize():]
	if open, err = aead.Open(nil, nonce, rest, additional(use, key)); err != nil {
		return nil, errSealed
	}
	return open, nil
}

// additional is what is authenticated beside the value. No id has a zero byte.
func additional(use, key string) []byte { return []byte("work\x00" + key + "\x00" + use) }

// Hash is a keyed digest of what makes jobs the same: nil without Keys.Locks.
func (s *Sealer) Hash(b []byte) []byte {
	if s.locks == nil {
		return nil
	}
	mac := hmac.New(sha256.New, s.locks)
	mac.Write(b) //lint:ignore errcheck a hash takes everything
	return mac.Sum(nil)
}
