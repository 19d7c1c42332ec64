package filetree

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"os"
	"unicode"
	"unicode/utf8"
)

// Counter measures what is written to it, in pieces of any size and in memory that does not grow with them.
type Counter struct {
	sum    hash.Hash
	Size   int64
	lines  int64
	words  int64
	inWord bool
	cut    []byte // the beginning of a character whose end was not in the piece
}

// NewCounter makes a counter of one file.
func NewCounter() *Counter { return &Counter{sum: sha256.New()} }

// Write never fails.
func (t *Counter) Write(piece []byte) (int, error) {
	t.sum.Write(piece)
	t.Size += int64(len(piece))
	rest := piece
	if len(t.cut) > 0 {
		rest = append(t.cut, piece...)
	}
	for len(rest) > 0 {
		char, width := rune(rest[0]), 1
		if char >= utf8.RuneSelf {
			if !utf8.FullRune(rest) {
				break
			}
			char, width = utf8.DecodeRune(rest)
		}
		t.count(char)
		rest = rest[width:]
	}
	t.cut = append([]byte(nil), rest...)
	return len(piece), nil
}

func (t *Counter) count(char rune) {
	if char == '\n' {
		t.lines++
	}
	space := unicode.IsSpace(char)
	if !space && !t.inWord {
		t.words++
	}
	t.inWord = !space
}

// Result ends the count. A character that was cut off by the end is not a space, so it belongs to a word.
func (t *Counter) Result() Measurement {
	words := t.words
	if len(t.cut) > 0 && !t.inWord {
		words++
	}
	return Measurement{Size: t.Size, Lines: t.lines, Words: words, SHA256: hex.EncodeToString(t.sum.Sum(nil))}
}

// regularOnly closes what is not a regular file.
func regularOnly(f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		_ = f.Close() // nothing was written, and err says more
		return nil, err
	}
	return f, nil
}
