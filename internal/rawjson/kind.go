package rawjson

// Kind says what JSON is by how it begins, and nothing of what is in it.
func Kind(text []byte) string {
	at := skipSpace(text, 0)
	if at == len(text) {
		return "missing"
	}
	switch c := text[at]; {
	case c == '{':
		return "a JSON object"
	case c == '[':
		return "a JSON array"
	case c == '"':
		return "a JSON string"
	case c == '-', c >= '0' && c <= '9':
		return "a JSON number"
	case c == 't', c == 'f':
		return "a JSON boolean"
	case c == 'n':
		return "null"
	}
	return "no JSON"
}
