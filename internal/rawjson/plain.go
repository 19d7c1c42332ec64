package rawjson

import (
	"bytes"
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"
)

// The functions of this file read what is written simply, which is nearly everything, and say false for the rest, right
// or wrong: encoding/json then decides. So they may be narrower than it, never different.

// Int takes an integer of at most 19 digits that fits.
func Int(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	n, ok := Uint(b)
	if !ok || n > math.MaxInt64 {
		return 0, false
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// Uint takes at most 19 digits, which cannot overflow.
func Uint(b []byte) (uint64, bool) {
	if len(b) == 0 || len(b) > 19 || (b[0] == '0' && len(b) > 1) {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// Float takes a number without an exponent.
func Float(b []byte, bits int) (float64, bool) {
	if !isDecimal(b) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(b), bits)
	return f, err == nil
}

// isDecimal tells whether b is a number without an exponent: strconv would also take hexadecimal, "inf" and
// underscores.
func isDecimal(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("-"))
	whole, fraction, pointed := bytes.Cut(b, []byte("."))
	return allDigits(whole) && (whole[0] != '0' || len(whole) == 1) && (!pointed || allDigits(fraction))
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

// String takes a string without escapes.
func String(b []byte) (string, bool) {
	if len(b) < 2 || b[0] != '"' || quoteEnd(b[1:]) != len(b)-2 {
		return "", false
	}
	return string(b[1 : len(b)-1]), true
}

// Base64 takes bytes as encoding/json writes them: a string in the standard encoding, with padding.
func Base64(b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '"' || quoteEnd(b[1:]) != len(b)-2 {
		return nil, false
	}
	text := b[1 : len(b)-1]
	decoded := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(decoded, text)
	return decoded[:n], err == nil
}

// quoteEnd is where the quote is that ends a string which has begun before b, or -1: it has escapes, is no string, or
// does not end.
func quoteEnd(b []byte) int {
	ascii := true
	for i := 0; i < len(b); {
		n, beyond := unbroken(b[i:])
		i, ascii = i+n, ascii && !beyond
		for end := min(i+8, len(b)); i < end; i++ {
			switch c := b[i]; {
			case c == '"':
				if !ascii && !utf8.Valid(b[:i]) {
					return -1
				}
				return i
			case c < ' ' || c == '\\':
				return -1
			case c >= utf8.RuneSelf:
				ascii = false
			}
		}
	}
	return -1
}

// Bool takes true and false.
func Bool(b []byte) (value, ok bool) {
	return string(b) == "true", string(b) == "true" || string(b) == "false"
}

// IsPlain tells whether a word is printable ASCII that JSON writes as it stands: nearly all are.
func IsPlain(word string) bool {
	for i := range len(word) {
		if c := word[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
