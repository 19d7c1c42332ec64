package redisconn

import (
	"fmt"
	"strconv"
	"time"

	"github.com/265d0351/work/internal/excerpt"
)

// Reader takes an array reply apart, one value after the other, and remembers the first that was not as expected. One
// goroutine uses it.
type Reader struct {
	script string
	whole  any
	rest   []any
	err    error
	outer  *Reader // of a list within a list: what is wrong in here is wrong there
}

// Read begins to take the reply of a script apart.
func Read(script string, reply any) *Reader {
	r := &Reader{script: script, whole: reply}
	list, ok := reply.([]any)
	if !ok {
		r.Fail()
	}
	r.rest = list
	return r
}

// NewReader takes an array apart that is a part of a reply, or stands for several. whole is what an error tells.
func NewReader(script string, whole any, rest []any) *Reader {
	return &Reader{script: script, whole: whole, rest: rest}
}

// Fail notes that the reply is not what was expected.
func (r *Reader) Fail() {
	for ; r != nil; r = r.outer {
		if r.err == nil {
			r.err = &UnexpectedReplyError{Script: r.script, Reply: r.whole}
		}
	}
}

// Err returns *[UnexpectedReplyError] when something was not as expected.
func (r *Reader) Err() error { return r.err }

// More tells whether there is another value, and all were as expected.
func (r *Reader) More() bool { return r.err == nil && len(r.rest) > 0 }

// Len is how many values are left.
func (r *Reader) Len() int { return len(r.rest) }

// Next returns the next value as it came.
func (r *Reader) Next() any {
	if len(r.rest) == 0 {
		r.Fail()
		return nil
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

// Text reads a string; nil is an empty one.
func (r *Reader) Text() string {
	switch v := r.Next().(type) {
	case []byte:
		return string(v)
	case string:
		return v
	case nil:
		return ""
	default:
		r.Fail()
		return ""
	}
}

// After reads a string and puts it behind the prefix.
func (r *Reader) After(prefix string) string {
	switch v := r.Next().(type) {
	case []byte:
		return prefix + string(v)
	case string:
		return prefix + v
	default:
		r.Fail()
		return prefix
	}
}

// Bytes reads a string; nil stays nil.
func (r *Reader) Bytes() []byte {
	switch v := r.Next().(type) {
	case []byte:
		return v
	case nil:
		return nil
	default:
		r.Fail()
		return nil
	}
}

// Number reads an integer, or the digits of one; nil is 0. Scores come as text, and may have an exponent.
func (r *Reader) Number() int64 {
	switch v := r.Next().(type) {
	case int64:
		return v
	case []byte:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			r.Fail()
		}
		return int64(f)
	case nil:
		return 0
	default:
		r.Fail()
		return 0
	}
}

// Clock reads what TIME answers.
func (r *Reader) Clock() time.Time {
	seconds, micros := r.Number(), r.Number()
	return time.UnixMicro(seconds*1_000_000 + micros)
}

// List reads an array; nil is an empty one.
func (r *Reader) List() *Reader {
	inner := &Reader{script: r.script, whole: r.whole, outer: r}
	switch v := r.Next().(type) {
	case []any:
		inner.rest = v
	case nil:
	default:
		r.Fail()
	}
	return inner
}

// Texts reads an array of strings; nil is an empty one.
func (r *Reader) Texts() []string {
	v := r.Next()
	if v == nil {
		return nil
	}
	return r.TextsOf(v)
}

// TextsOf turns an array of bulk strings into Go's.
func (r *Reader) TextsOf(reply any) []string {
	list, ok := reply.([]any)
	if !ok {
		r.Fail()
		return nil
	}
	out := make([]string, 0, len(list))
	inner := &Reader{script: r.script, whole: r.whole, rest: list, outer: r}
	for inner.More() {
		out = append(out, inner.Text())
	}
	return out
}

// UnexpectedReplyError says that a script answered something that this version does not understand.
type UnexpectedReplyError struct {
	Script string
	Reply  any
}

func (e *UnexpectedReplyError) Error() string {
	return fmt.Sprintf("Redis answered %s with something else than expected: %s", excerpt.Text(e.Script, excerpt.Name),
		excerpt.Value(e.Reply))
}
