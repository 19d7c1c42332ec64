package rawjson

import (
	"bytes"
	"encoding/json"
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
func Sound(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	return AppendString(nil, string(raw))
}
