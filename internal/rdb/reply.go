package rdb

import "strconv"

// reader takes an array reply apart, one value after the other, and remembers the first that was not as expected.
type reader struct {
	script string
	whole  any
	rest   []any
	err    error
}

func read(script string, reply any) *reader {
	r := &reader{script: script, whole: reply}
	list, ok := reply.([]any)
	if !ok {
		r.fail()
	}
	r.rest = list
	return r
}

func (r *reader) fail() {
	if r.err == nil {
		r.err = &UnexpectedReplyError{Script: r.script, Reply: r.whole}
	}
}

func (r *reader) more() bool { return r.err == nil && len(r.rest) > 0 }

func (r *reader) next() any {
	if len(r.rest) == 0 {
		r.fail()
		return nil
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func (r *reader) text() string {
	switch v := r.next().(type) {
	case []byte:
		return string(v)
	case string:
		return v
	case nil:
		return ""
	default:
		r.fail()
		return ""
	}
}

func (r *reader) bytes() []byte {
	switch v := r.next().(type) {
	case []byte:
		return v
	case nil:
		return nil
	default:
		r.fail()
		return nil
	}
}

// number reads an integer, or the digits of one; nil is 0. Scores come as text, and may have an exponent.
func (r *reader) number() int64 {
	switch v := r.next().(type) {
	case int64:
		return v
	case []byte:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			r.fail()
		}
		return int64(f)
	case nil:
		return 0
	default:
		r.fail()
		return 0
	}
}

// list reads an array; nil is an empty one.
func (r *reader) list() *reader {
	inner := &reader{script: r.script, whole: r.whole}
	switch v := r.next().(type) {
	case []any:
		inner.rest = v
	case nil:
	default:
		r.fail()
	}
	return inner
}

func (r *reader) texts() []string {
	v := r.next()
	if v == nil {
		return nil
	}
	return texts(r, v)
}

// texts turns an array of bulk strings into Go's.
func texts(r *reader, reply any) []string {
	list, ok := reply.([]any)
	if !ok {
		r.fail()
		return nil
	}
	out := make([]string, 0, len(list))
	inner := &reader{script: r.script, whole: r.whole, rest: list}
	for inner.more() {
		out = append(out, inner.text())
	}
	if inner.err != nil {
		r.fail()
	}
	return out
}
