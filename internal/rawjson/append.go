package rawjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// AppendString writes a JSON string.
func AppendString(dst []byte, s string) []byte {
	if IsPlain(s) {
		return append(append(append(dst, '"'), s...), '"')
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s) // a string, into memory: cannot fail
	return append(dst, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}

// Sound is raw, or a string of it where it is no JSON: anybody may have written it, and it must not hide the rest.
// Bytes that are not UTF-8, which json.Valid takes within strings, become U+FFFD.
func Sound(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return UTF8(raw)
	}
	return AppendString(nil, string(raw))
}

// UTF8 is JSON in which U+FFFD replaces bytes that are not UTF-8; the very JSON where there are none.
func UTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte(string(utf8.RuneError)))
}
