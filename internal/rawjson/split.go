package rawjson

import "bytes"

// Split appends the elements of the JSON array b to pieces, each as the bytes it is written with. It knows strings
// and nesting but does not look into the elements: when each piece is valid JSON by itself, and only then, the whole
// was. What decodes a piece validates it, so every byte is validated once. No array at all is the empty one: so is
// null, which is how a nil slice is written.
func Split(pieces [][]byte, b []byte) ([][]byte, bool) {
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
		end := lazyEnd(b, i)
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

// lazyEnd is where the value that begins at i ends, or -1 when it never does.
func lazyEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return lazyStringEnd(b, i)
	case '[', '{':
		return lazyNestedEnd(b, i)
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

// lazyStringEnd looks for quotes alone, which is the quickest way through a long string. One that stands behind an odd
// number of backslashes belongs to it, and where one does, others are near: JSON within JSON is full of them.
func lazyStringEnd(b []byte, i int) int {
	for at := i + 1; at < len(b); {
		quote := bytes.IndexByte(b[at:], '"')
		if quote < 0 {
			return -1
		}
		at += quote + 1
		slashes := at - 1
		for slashes > i+1 && b[slashes-1] == '\\' {
			slashes--
		}
		if (at-1-slashes)%2 == 0 {
			return at
		}
		for near := min(at+64, len(b)); at < near; at++ {
			switch b[at] {
			case '\\':
				at++
			case '"':
				return at + 1
			}
		}
	}
	return -1
}

func lazyNestedEnd(b []byte, i int) int {
	depth := 0
	for i >= 0 && i < len(b) {
		switch b[i] {
		case '"':
			i = lazyStringEnd(b, i)
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

// Join makes one array of its elements: what Split has taken apart.
func Join(pieces [][]byte) []byte {
	size := 2
	for _, piece := range pieces {
		size += len(piece) + 1
	}
	whole := append(make([]byte, 0, size), '[')
	for i, piece := range pieces {
		if i > 0 {
			whole = append(whole, ',')
		}
		whole = append(whole, piece...)
	}
	return append(whole, ']')
}
