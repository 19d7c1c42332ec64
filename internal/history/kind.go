package history

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/ids"
)

// maxMessage is how many bytes of a message are looked at.
const maxMessage = 1 << 10

// Kind is a message without what differs from job to job, so that "user 12 not found" and "user 13 not found" are
// of one kind. A "#" stands for
//
//   - a number: digits, also with points or commas between them, and each such row in a word like "node7",
//   - a UUID, and what begins with 0x,
//   - a word of six or more hex digits, or of 16 or more letters and digits, with a digit in it,
//   - a path such as /tmp/x, ./x or C:\x, and the name of a file of data such as prices.csv, up to its ending: "#.csv".
//     Names of source code stay, and so do addresses: where it happened is a part of what happened.
//
// What is in quotes (", ` or ') is "…", white space is one space. The message is looked at up to 1 KiB, and its kind
// cut at 256 bytes.
func Kind(text string) string {
	text = excerpt.Start(text, maxMessage)
	kind := make([]byte, 0, MaxGroupMessage+utf8.UTFMax)
	inWord, inPath := false, false // the character before was a letter or a digit, or may be in a path
	for text != "" && len(kind) <= MaxGroupMessage {
		piece, n := " ", len(text)-len(strings.TrimLeftFunc(text, unicode.IsSpace))
		if n == 0 {
			piece, n = nextPiece(text, inWord, inPath)
		}
		last, _ := utf8.DecodeLastRuneInString(text[:n])
		inWord, inPath = isWordByte(text[n-1]), isPathRune(last) || strings.HasPrefix(text, "://")
		text = text[n:]
		kind = append(kind, piece...)
	}
	return excerpt.Start(strings.TrimSpace(string(kind)), MaxGroupMessage)
}

// nextPiece returns what stands for the beginning of a text, and how long that is.
func nextPiece(text string, inWord, inPath bool) (piece string, n int) {
	first, size := utf8.DecodeRuneInString(text)
	switch {
	case first == '"' || first == '`' || first == '\'' && !inWord:
		if n := quoteLength(text); n > 0 {
			return text[:1] + "…" + text[:1], n
		}
	case !inPath && isPathRune(first):
		if piece, n := pathKind(text); n > 0 {
			return piece, n
		}
	}
	switch {
	case first < utf8.RuneSelf && isWordByte(text[0]):
		if n := idLength(text); n > 0 && !inWord {
			return "#", n
		}
		if n := numberLength(text); n > 0 {
			return "#", n
		}
	case unicode.IsControl(first):
		return "", size
	}
	return text[:size], size
}

// quoteLength is how long the quoted part is that the text begins with, 0 where it does not end. An apostrophe within a
// word ends none.
func quoteLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[i] != text[0]:
		case text[0] != '\'' || i+1 == len(text) || !isWordByte(text[i+1]):
			return i + 1
		}
	}
	return 0
}

// idLength is how long the id is that the text begins with, 0 where it is a plain word or number.
func idLength(text string) int {
	if n := ids.UUIDLength; len(text) >= n && ids.IsUUID(text[:n]) && (len(text) == n || !isWordByte(text[n])) {
		return n
	}
	n, digits, hexDigits := 0, 0, 0
	for ; n < len(text) && isWordByte(text[n]); n++ {
		if isDigit(text[n]) {
			digits++
		}
		if isHexDigit(text[n]) {
			hexDigits++
		}
	}
	switch {
	case digits == n: // a number, which may go on behind a point
		return 0
	case n > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && hexDigits == n-1:
		return n
	case digits > 0 && (hexDigits == n && n >= 6 || n >= 16):
		return n
	}
	return 0
}

// numberLength is how long the number is that the text begins with: digits, also with points and commas between them.
func numberLength(text string) int {
	n := 0
	for n < len(text) && (isDigit(text[n]) || n > 0 && n+1 < len(text) && (text[n] == '.' || text[n] == ',') &&
		isDigit(text[n+1])) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

func isWordByte(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'z' }
