package inspect

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strconv"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/rdb"
)

// cursorStates are the states as cursors number them: new ones come at the end.
var cursorStates = []work.State{"", work.StateQueued, work.StateRunning, work.StateScheduled, work.StateRetrying,
	work.StateStalled, work.StateDead, work.StateSucceeded, work.StateCancelled, work.StateDiscarded,
	work.StateExpired, work.StateDeleted}

// cursorWriter makes the bytes of a cursor: numbers of variable length, texts behind their length.
type cursorWriter struct{ b []byte }

func (w *cursorWriter) number(n int) { w.b = binary.AppendVarint(w.b, int64(n)) }

func (w *cursorWriter) text(s string) {
	w.number(len(s))
	w.b = append(w.b, s...)
}

func (w *cursorWriter) truth(is bool) {
	if is {
		w.number(1)
	} else {
		w.number(0)
	}
}

func (w *cursorWriter) state(s work.State) {
	n := slices.Index(cursorStates, s)
	w.number(n)
	if n < 0 {
		w.text(string(s))
	}
}

// score writes a number of whole ms in six bytes, and all else as the text that it is.
func (w *cursorWriter) score(s string) {
	if n, err := strconv.ParseInt(s, 10, 63); err == nil && n >= 0 && strconv.FormatInt(n, 10) == s {
		w.truth(true)
		w.number(int(n))
		return
	}
	w.truth(false)
	w.text(s)
}

func (w *cursorWriter) anchors(all []rdb.Anchor) {
	w.number(len(all))
	for _, anchor := range all {
		w.b = binary.BigEndian.AppendUint32(w.b, uint32(anchor))
	}
}

// sealed is the text: the bytes and a checksum, so that one with a letter lost is refused and does not lead elsewhere.
func (w *cursorWriter) sealed() string {
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint32(w.b, crc32.ChecksumIEEE(w.b)))
}

// cursorReader takes them apart. After the first that does not fit it returns zero values.
type cursorReader struct {
	rest []byte
	err  error
}

var errNoCursor = errors.New("it was not made by this program, or is of another version of it")

// unsealed begins to read a text.
func unsealed(text string) (*cursorReader, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, err
	}
	at := len(b) - crc32.Size
	if at < 0 || binary.BigEndian.Uint32(b[at:]) != crc32.ChecksumIEEE(b[:at]) {
		return nil, errNoCursor
	}
	return &cursorReader{rest: b[:at]}, nil
}

func (r *cursorReader) fail() { r.rest, r.err = nil, errNoCursor }

func (r *cursorReader) number() int {
	n, size := binary.Varint(r.rest)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[size:]
	return int(n)
}

// take returns so many bytes.
func (r *cursorReader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.fail()
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *cursorReader) text() string { return string(r.take(r.number())) }

func (r *cursorReader) truth() bool { return r.number() == 1 }

// kind reads what a cursor is, one of these.
func (r *cursorReader) kind(kinds ...int) int {
	kind := r.number()
	if !slices.Contains(kinds, kind) {
		r.fail()
	}
	return kind
}

func (r *cursorReader) state() work.State {
	switch n := r.number(); {
	case n == -1:
		return work.State(r.text())
	case n < 0 || n >= len(cursorStates):
		r.fail()
		return ""
	default:
		return cursorStates[n]
	}
}

func (r *cursorReader) score() string {
	if r.truth() {
		return strconv.Itoa(r.number())
	}
	return r.text()
}

func (r *cursorReader) anchors() []rdb.Anchor {
	n := r.number()
	if n < 0 || n > len(r.rest)/4 {
		r.fail()
		return nil
	}
	var all []rdb.Anchor
	for range n {
		all = append(all, rdb.Anchor(binary.BigEndian.Uint32(r.take(4))))
	}
	return all
}

// end returns what was wrong, were it that something is left.
func (r *cursorReader) end() error {
	if len(r.rest) > 0 {
		r.fail()
	}
	return r.err
}
