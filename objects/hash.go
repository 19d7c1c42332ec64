package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// MaxSize is how many bytes one object may have: 64 MiB.
const MaxSize = 64 << 20

// Hash names an object: the SHA-256 of its content, as 64 lower case hexadecimal digits. The zero value names none.
type Hash string

// Of is the hash of a content.
func Of(content []byte) Hash {
	sum := sha256.Sum256(content)
	return Hash(hex.EncodeToString(sum[:]))
}

// ParseHash reads a hash. Anything else than 64 lower case hexadecimal digits is a *[HashError], so that what was
// parsed is safe in the name of a key or a file.
func ParseHash(text string) (Hash, error) {
	if len(text) != 2*sha256.Size {
		return "", &HashError{Text: text}
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return "", &HashError{Text: text}
		}
	}
	return Hash(text), nil
}

func (h Hash) check() error {
	_, err := ParseHash(string(h))
	return err
}

// HashError says that a text is no hash.
type HashError struct{ Text string }

func (e *HashError) Error() string {
	return fmt.Sprintf("%.80q is no hash of an object: use the 64 lower case hexadecimal digits of a SHA-256", e.Text)
}
