package goredis

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/265d0351/work/internal/redisconn"
)

var errCutOff = errors.New("the reply is cut off")

// decode reads the one reply that a text is, of either version of the protocol: nil, int64, []byte, string for a
// status, []any of these, or *ServerError. What only version 3 has becomes what version 2 answers in its place.
func decode(text []byte) (any, error) {
	d := decoder{rest: text}
	value, err := d.value()
	if err == nil && len(d.rest) > 0 {
		err = fmt.Errorf("%d bytes follow the reply", len(d.rest))
	}
	return value, err
}

type decoder struct{ rest []byte }

func (d *decoder) line() ([]byte, error) {
	line, rest, found := bytes.Cut(d.rest, []byte("\r\n"))
	if !found || len(line) == 0 {
		return nil, errCutOff
	}
	d.rest = rest
	return line, nil
}

func (d *decoder) value() (any, error) {
	line, err := d.line()
	if err != nil {
		return nil, err
	}
	body := line[1:]
	switch line[0] {
	case '+':
		return string(body), nil
	case '-':
		return redisconn.ParseServerError(string(body)), nil
	case ':':
		return strconv.ParseInt(string(body), 10, 64)
	case '_':
		return nil, nil
	case ',', '(': // a double, a large number: text in version 2
		return body, nil
	case '#':
		if string(body) == "t" {
			return int64(1), nil
		}
		return int64(0), nil
	case '$', '=', '!':
		return d.bulk(line[0], body)
	case '*', '~', '>':
		return d.list(body, 1)
	case '%':
		return d.list(body, 2)
	case '|': // attributes, and then the reply
		if _, err := d.list(body, 2); err != nil {
			return nil, err
		}
		return d.value()
	}
	return nil, fmt.Errorf("the reply begins with %q, which this version does not know", line[:1])
}

func (d *decoder) bulk(kind byte, length []byte) (any, error) {
	n, err := strconv.Atoi(string(length))
	if err != nil {
		return nil, fmt.Errorf("the length %q of a reply is no number", length)
	}
	if n < 0 {
		return nil, nil
	}
	if len(d.rest) < n+2 {
		return nil, errCutOff
	}
	body := d.rest[:n:n]
	d.rest = d.rest[n+2:]
	switch {
	case kind == '!':
		return redisconn.ParseServerError(string(body)), nil
	case kind == '=' && len(body) >= 4:
		return body[4:], nil // behind "txt:"
	}
	return body, nil
}

func (d *decoder) list(length []byte, each int) (any, error) {
	n, err := strconv.Atoi(string(length))
	if err != nil {
		return nil, fmt.Errorf("the length %q of a reply is no number", length)
	}
	if n < 0 {
		return nil, nil
	}
	list := make([]any, 0, min(n*each, len(d.rest)))
	for range n * each {
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	return list, nil
}

// likeRESP2 undoes the one thing that the types do not tell: version 3 answers members with their scores, or fields
// with their values, as pairs.
func likeRESP2(c *redisconn.Call, value any) any {
	list, ok := value.([]any)
	if !ok || c.Script != nil || !pairs(c) {
		return value
	}
	flat := make([]any, 0, 2*len(list))
	for _, entry := range list {
		pair, ok := entry.([]any)
		if !ok {
			return value // version 2, or a single pair
		}
		flat = append(flat, pair...)
	}
	return flat
}

// pairs tells whether a command is one of those.
func pairs(c *redisconn.Call) bool {
	switch strings.ToUpper(c.Command) {
	case "ZPOPMIN", "ZPOPMAX":
		return true
	case "ZRANGE", "ZREVRANGE", "ZRANGEBYSCORE", "ZREVRANGEBYSCORE", "ZRANDMEMBER", "ZUNION", "ZINTER", "ZDIFF",
		"HRANDFIELD":
		for _, arg := range c.Args {
			if word := strings.ToUpper(string(textOf(arg))); word == "WITHSCORES" || word == "WITHVALUES" {
				return true
			}
		}
	}
	return false
}
