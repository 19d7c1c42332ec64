package rawjson

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// HasLone reports whether JSON has half of a surrogate pair as an escape, such as \ud800, in a string. It stands for no
// character: encoding/json reads each as U+FFFD, so that different texts become one. Other languages write them for
// file names that are not UTF-8.
func HasLone(text []byte) bool {
	_, found := nextLone(text, 0)
	return found
}

// Distinct is JSON that encoding/json reads as different texts where the halves of pairs in it differ: each becomes a
// character of the last private plane. It is for comparing. Without halves it is the very text.
func Distinct(text []byte) []byte {
	at, found := nextLone(text, 0)
	if !found {
		return text
	}
	var distinct []byte
	from := 0
	for ; found; at, found = nextLone(text, from) {
		half, _ := escaped(text[at:])
		distinct = utf8.AppendRune(append(distinct, text[from:at]...), half-0xD800+0x10F800)
		from = at + len(`\ud800`)
	}
	return append(distinct, text[from:]...)
}

// nextLone finds the next half of a pair.
func nextLone(text []byte, from int) (at int, found bool) {
	for at = from; ; {
		slash := bytes.IndexByte(text[at:], '\\')
		if slash < 0 {
			return 0, false
		}
		at += slash
		half, is := escaped(text[at:])
		switch {
		case !is:
			at = min(at+len(`\n`), len(text))
		case !utf16.IsSurrogate(half):
			at += len(`\u0000`)
		default:
			other, _ := escaped(text[at+len(`\ud800`):])
			if utf16.DecodeRune(half, other) == utf8.RuneError {
				return at, true
			}
			at += len(`\ud800\udc00`)
		}
	}
}

// escaped is the number of an escape such as \ud800 with which the text begins.
func escaped(text []byte) (number rune, is bool) {
	if len(text) < len(`\ud800`) || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 32)
	return rune(n), err == nil
}
