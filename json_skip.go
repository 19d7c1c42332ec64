package work

// maxSkipDepth is how deep a value may be nested for skipJSON, which calls itself.
const maxSkipDepth = 64

// skipJSON is where the JSON value that begins at i ends, or -1. It takes nothing that encoding/json would refuse, and
// gives up on what is nested deeper than maxSkipDepth or has spaces, which encode does not write.
func skipJSON(b []byte, i, depth int) int {
	if i >= len(b) || depth > maxSkipDepth {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return skipString(b, i)
	case c == '[':
		return skipArray(b, i, depth)
	case c == '{':
		return skipObject(b, i, depth)
	case c == '-' || c >= '0' && c <= '9':
		return skipNumber(b, i)
	}
	for _, word := range [...]string{"null", "true", "false"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return -1
}

func skipArray(b []byte, i, depth int) int {
	i++
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		i = skipJSON(b, i, depth+1)
		if i < 0 || i == len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i++
		case ']':
			return i + 1
		default:
			return -1
		}
	}
}

func skipObject(b []byte, i, depth int) int {
	i++
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		i = skipString(b, i)
		if i < 0 || i == len(b) || b[i] != ':' {
			return -1
		}
		i = skipJSON(b, i+1, depth+1)
		if i < 0 || i == len(b) {
			return -1
		}
		switch b[i] {
		case ',':
			i++
		case '}':
			return i + 1
		default:
			return -1
		}
	}
}

// skipString is where the string that begins at i ends, or -1.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c < ' ':
			return -1
		case c == '\\':
			i = skipEscape(b, i)
			if i < 0 {
				return -1
			}
		}
	}
	return -1
}

// skipEscape is where the last byte of the escape that begins at i stands, or -1.
func skipEscape(b []byte, i int) int {
	if i+1 >= len(b) {
		return -1
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		for k := i + 2; k < i+6; k++ {
			if k >= len(b) || !isHex(b[k]) {
				return -1
			}
		}
		return i + 5
	}
	return -1
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func skipNumber(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = skipDigits(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return skipDigits(b, i)
	}
	return i
}

// skipDigits takes one digit or more.
func skipDigits(b []byte, i int) int {
	from := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}
