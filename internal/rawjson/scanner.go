package rawjson

// Scanner takes JSON of a known shape apart, from the left. Its methods may be called after a failure: then they return
// nothing of use, and Done says false in the end.
type Scanner struct {
	rest   []byte
	failed bool
}

// NewScanner begins at the start of b, which must not change as long as an array of it is in use.
func NewScanner(b []byte) Scanner { return Scanner{rest: b} }

// Done tells that all was read and nothing was amiss. Otherwise what was read means nothing.
func (s *Scanner) Done() bool { return len(s.rest) == 0 && !s.failed }

// Has takes a prefix away, if it is there.
func (s *Scanner) Has(prefix string) bool {
	if len(s.rest) < len(prefix) || string(s.rest[:len(prefix)]) != prefix {
		return false
	}
	s.rest = s.rest[len(prefix):]
	return true
}

// Text reads a string behind the prefix, which has its first quote.
func (s *Scanner) Text(prefix string) string {
	if !s.must(prefix) {
		return ""
	}
	end := quoteEnd(s.rest)
	if end < 0 {
		s.failed = true
		return ""
	}
	text := string(s.rest[:end])
	s.rest = s.rest[end+1:]
	return text
}

// Known is Text for a string that is most probably that one, which need not be made again then.
func (s *Scanner) Known(prefix, text string) string {
	if whole := len(prefix) + len(text); len(s.rest) > whole && s.rest[whole] == '"' && IsPlain(text) &&
		string(s.rest[:len(prefix)]) == prefix && string(s.rest[len(prefix):whole]) == text {
		s.rest = s.rest[whole+1:]
		return text
	}
	return s.Text(prefix)
}

// Texts reads the members of an object of strings, and its closing brace.
func (s *Scanner) Texts() map[string]string {
	texts := map[string]string{}
	for before := `"`; !s.failed && !s.Has(`}`); before = `,"` {
		key := s.Text(before)
		texts[key] = s.Text(`:"`)
	}
	return texts
}

// Array reads an array behind the prefix, as the bytes it is written with.
func (s *Scanner) Array(prefix string) []byte {
	if !s.must(prefix) {
		return nil
	}
	end := -1
	if len(s.rest) > 0 && s.rest[0] == '[' {
		end = valueEnd(s.rest, 0, 0)
	}
	if end < 0 {
		s.failed = true
		return nil
	}
	array := s.rest[:end:end]
	s.rest = s.rest[end:]
	return array
}

// Number reads an integer behind the prefix.
func (s *Scanner) Number(prefix string) int64 {
	if !s.must(prefix) {
		return 0
	}
	return s.Digits()
}

// Optional is Number, or 0 where the prefix is not there.
func (s *Scanner) Optional(prefix string) int64 {
	if !s.Has(prefix) {
		return 0
	}
	return s.Digits()
}

// Digits reads an integer.
func (s *Scanner) Digits() int64 {
	end := 0
	for end < len(s.rest) && (s.rest[end] >= '0' && s.rest[end] <= '9' || s.rest[end] == '-') {
		end++
	}
	n, ok := Int(s.rest[:end])
	if !ok {
		s.failed = true
		return 0
	}
	s.rest = s.rest[end:]
	return n
}

func (s *Scanner) must(prefix string) bool {
	there := s.Has(prefix)
	s.failed = s.failed || !there
	return there
}
