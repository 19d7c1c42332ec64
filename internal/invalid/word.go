package invalid

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rawjson"
)

// The limits of what ends up in the names of keys and in the ids of jobs.
const (
	MaxName = 200 // bytes of the name of a job
	MaxID   = 200 // bytes of the id of a job or of a schedule
	MaxKey  = 200 // bytes of the key on whose behalf a job is done
)

// JobName refuses what cannot be the name of a job.
func JobName(name string) error { return Word("job name", name, MaxName) }

// JobID refuses what cannot be the id of a job.
func JobID(id string) error { return Word("job id", id, MaxID) }

// Word refuses what is empty, longer than so many bytes, not UTF-8, or has control characters.
func Word(what, word string, most int) error {
	refuse := func(remedy string) error { return &Error{What: what, Value: excerpt.Brief(word), Remedy: remedy} }
	if word == "" {
		return &Error{What: what, Value: "empty", Remedy: fmt.Sprintf("use 1 to %d bytes of UTF-8", most)}
	}
	if len(word) > most {
		return &Error{What: what, Value: fmt.Sprintf("%s, which has %d bytes", excerpt.Brief(word), len(word)),
			Remedy: fmt.Sprintf("use at most %d", most)}
	}
	if rawjson.IsPlain(word) {
		return nil
	}
	if !utf8.ValidString(word) {
		return refuse("use valid UTF-8")
	}
	if strings.ContainsFunc(word, unicode.IsControl) {
		return refuse("use one without control characters")
	}
	return nil
}

// NotUTF8 is what is said of text that JSON cannot hold.
func NotUTF8(what string) *Error {
	return &Error{What: what, Value: "not UTF-8, which JSON cannot hold", Remedy: "encode it, for example as base64"}
}
