package filetree

import (
	"bufio"
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var texts = []struct {
	name         string
	text         string
	lines, words int64
}{
	{"nothing", "", 0, 0},
	{"one word without an end of line", "word", 0, 1},
	{"two lines", "one two\nthree\n", 2, 3},
	{"an unfinished last line is no line", "one\ntwo", 1, 2},
	{"space only", " \t\r\n\v\f", 1, 0},
	{"other scripts' spaces separate", "a\u00a0b\u2003c\u3000d", 0, 4},
	{"a zero-width space does not", "a\u200bb", 0, 1},
	{"letters of several bytes", "żółw Ωμέγα\n", 1, 2},
	{"bytes that are not UTF-8 belong to words", "\xff\xfe a\xc3 \xe2\x82", 0, 3},
	{"cut within a space's bytes", "a \xe2\x80", 0, 2},
	{"NUL belongs to a word", "\x00\x00 \x00", 0, 2},
	{"a word longer than any buffer", strings.Repeat("x", 200_000) + "\n", 1, 1},
}

func TestCounterCounts(t *testing.T) {
	t.Parallel()
	for _, row := range texts {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			sum := NewCounter()
			_, err := sum.Write([]byte(row.text))
			require.NoError(t, err)
			got := sum.Result()
			assert.Equal(t, row.lines, got.Lines, "lines")
			assert.Equal(t, row.words, got.Words, "words")
			assert.Equal(t, int64(len(row.text)), got.Size)
		})
	}
}

func TestPlainCountAgreesWithTheTable(t *testing.T) {
	t.Parallel()
	for _, row := range texts {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			got, err := plainCount(context.Background(), strings.NewReader(row.text))
			require.NoError(t, err)
			assert.Equal(t, Measurement{Size: int64(len(row.text)), Lines: row.lines, Words: row.words}, got)
		})
	}
}

func TestPlainCountReportsAFailedRead(t *testing.T) {
	t.Parallel()
	_, err := plainCount(context.Background(), iotest.ErrReader(assert.AnError))
	assert.ErrorIs(t, err, assert.AnError)
}

func TestCounterOfNothingHasTheKnownHash(t *testing.T) {
	t.Parallel()
	const known = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	assert.Equal(t, known, NewCounter().Result().SHA256)
}

// FuzzCounter compares the count of pieces with bufio's words and with the other way of counting.
func FuzzCounter(f *testing.F) {
	for _, row := range texts {
		if len(row.text) < 1000 {
			f.Add([]byte(row.text), uint8(1))
			f.Add([]byte(row.text), uint8(3))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte, piece uint8) {
		sum := NewCounter()
		for rest := text; len(rest) > 0; {
			n := min(int(piece)+1, len(rest))
			_, _ = sum.Write(rest[:n])
			rest = rest[n:]
		}
		got := sum.Result()

		words := bufio.NewScanner(bytes.NewReader(text))
		words.Buffer(nil, len(text)+bufio.MaxScanTokenSize)
		words.Split(bufio.ScanWords)
		var want int64
		for words.Scan() {
			want++
		}
		require.NoError(t, words.Err())
		require.Equal(t, want, got.Words, "words as bufio.ScanWords finds them")
		require.Equal(t, int64(bytes.Count(text, []byte("\n"))), got.Lines)

		plain, err := plainCount(context.Background(), bytes.NewReader(text))
		require.NoError(t, err)
		plain.SHA256 = got.SHA256
		require.Equal(t, plain, got)
	})
}
