package server

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
)

// push is a message of RESP3 that answers no request.
type push struct{ items []any }

func isPush(value any) bool {
	_, ok := value.(push)
	return ok
}

// recorder keeps what was read, byte for byte, to be passed on.
type recorder struct{ bytes []byte }

func (r *recorder) Write(b []byte) (int, error) {
	r.bytes = append(r.bytes, b...)
	return len(b), nil
}

// readValue reads one value of RESP2 or RESP3: requests are arrays of strings, replies may be anything.
func readValue(in *bufio.Reader, raw io.Writer) (any, error) {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	raw.Write(line) //lint:ignore errcheck a recorder does not fail
	if len(line) < 3 {
		return nil, fmt.Errorf("RESP line %q is too short", line)
	}
	text := string(line[1 : len(line)-2])
	switch line[0] {
	case '+', '-', ',', '(', '#':
		return text, nil
	case '_':
		return nil, nil
	case ':':
		return strconv.ParseInt(text, 10, 64)
	case '$', '=', '!':
		return readBulk(in, raw, text)
	case '*', '~':
		return readArray(in, raw, text, 1)
	case '%':
		return readArray(in, raw, text, 2)
	case '>':
		items, err := readArray(in, raw, text, 1)
		list, _ := items.([]any)
		return push{list}, err
	}
	return nil, fmt.Errorf("RESP line %q begins with no known type", line)
}

func readBulk(in *bufio.Reader, raw io.Writer, length string) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, err
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(in, body); err != nil {
		return nil, err
	}
	raw.Write(body) //lint:ignore errcheck a recorder does not fail
	return string(body[:n]), nil
}

func readArray(in *bufio.Reader, raw io.Writer, length string, per int) (any, error) {
	n, err := strconv.Atoi(length)
	if err != nil || n < 0 {
		return nil, err
	}
	items := make([]any, 0, n*per)
	for range n * per {
		item, err := readValue(in, raw)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}
