package work

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// splitArray appends the elements of the JSON array b to pieces, each as the bytes it is written with. It knows strings
// and nesting but does not look into the elements: when each piece is valid JSON by itself, and only then, the whole
// was. What decodes a piece validates it, so every byte is validated once. No array at all is the empty one: so is
// null, which is how a nil slice is written.
func splitArray(pieces [][]byte, b []byte) ([][]byte, bool) {
	i := skipSpace(b, 0)
	if len(b) == 0 || string(bytes.TrimRight(b[i:], " \t\r\n")) == "null" {
		return pieces, true
	}
	if i == len(b) || b[i] != '[' {
		return pieces, false
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == ']' {
		return pieces, skipSpace(b, i+1) == len(b)
	}
	for i < len(b) {
		end := valueEnd(b, i)
		if end <= i {
			return pieces, false
		}
		pieces = append(pieces, b[i:end])
		i = skipSpace(b, end)
		if i == len(b) {
			return pieces, false
		}
		switch b[i] {
		case ',':
			i = skipSpace(b, i+1)
		case ']':
			return pieces, skipSpace(b, i+1) == len(b)
		default:
			return pieces, false
		}
	}
	return pieces, false
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// valueEnd is where the value that begins at i ends, or -1 when it never does.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '[', '{':
		return nestedEnd(b, i)
	}
	for i < len(b) {
		switch b[i] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return i
		}
		i++
	}
	return -1
}

func stringEnd(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func nestedEnd(b []byte, i int) int {
	depth := 0
	for i >= 0 && i < len(b) {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		}
		i++
		if depth == 0 {
			return i
		}
	}
	return -1
}

// The plain functions read what is written simply, which is nearly everything, and say false for the rest, right or
// wrong: encoding/json then decides. So they may be narrower than it, never different.

func plainInt(b []byte) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	n, ok := plainUint(b)
	if !ok || n > math.MaxInt64 {
		return 0, false
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// plainUint takes at most 19 digits, which cannot overflow.
func plainUint(b []byte) (uint64, bool) {
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

func plainFloat(b []byte, bits int) (float64, bool) {
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

func plainString(b []byte) (string, bool) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", false
	}
	b = b[1 : len(b)-1]
	ascii := true
	for _, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return "", false
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if !ascii && !utf8.Valid(b) {
		return "", false
	}
	return string(b), true
}

func plainBool(b []byte) (value, ok bool) {
	return string(b) == "true", string(b) == "true" || string(b) == "false"
}
