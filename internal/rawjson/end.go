package rawjson

// maxDepth is how deep a value may be nested for valueEnd, which calls itself.
const maxDepth = 64

// valueEnd is where the JSON value that begins at i ends, or -1. It takes nothing that encoding/json would refuse, and
// gives up on what is nested deeper than maxDepth or has spaces, which is not how records are written.
func valueEnd(b []byte, i, depth int) int {
	if i >= len(b) || depth > maxDepth {
		return -1
	}
	switch c := b[i]; {
	case c == '"':
		return stringEnd(b, i)
	case c == '[':
		return arrayEnd(b, i, depth)
	case c == '{':
		return objectEnd(b, i, depth)
	case c == '-' || c >= '0' && c <= '9':
		return numberEnd(b, i)
	}
	for _, word := range [...]string{"null", "true", "false"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return -1
}

func arrayEnd(b []byte, i, depth int) int {
	i++
	if i < len(b) && b[i] == ']' {
		return i + 1
	}
	for {
		i = valueEnd(b, i, depth+1)
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

func objectEnd(b []byte, i, depth int) int {
	i++
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		i = stringEnd(b, i)
		if i < 0 || i == len(b) || b[i] != ':' {
			return -1
		}
		i = valueEnd(b, i+1, depth+1)
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

// stringEnd is where the string that begins at i ends, or -1.
func stringEnd(b []byte, i int) int {
	for i++; i < len(b); {
		n, _ := unbroken(b[i:])
		i += n
		for end := min(i+8, len(b)); i < end; i++ {
			switch c := b[i]; {
			case c == '"':
				return i + 1
			case c < ' ':
				return -1
			case c == '\\':
				if i = escapeEnd(b, i); i < 0 {
					return -1
				}
			}
		}
	}
	return -1
}

// escapeEnd is where the last byte of the escape that begins at i stands, or -1.
func escapeEnd(b []byte, i int) int {
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

func numberEnd(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i = digitsEnd(b, i); i < 0 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		if i = digitsEnd(b, i+1); i < 0 {
			return -1
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digitsEnd(b, i)
	}
	return i
}

// digitsEnd takes one digit or more.
func digitsEnd(b []byte, i int) int {
	from := i
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}
