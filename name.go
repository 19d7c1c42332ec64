package work

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The limits of what ends up in the names of keys and in the ids of jobs.
const (
	maxNameBytes      = 200
	maxIDBytes        = 200
	maxNamespaceBytes = 100
)

// validateName refuses what cannot be the name of a job.
func validateName(name string) error { return validateWord("job name", name, maxNameBytes) }

// validateID refuses what cannot be the id of a job.
func validateID(id string) error { return validateWord("job id", id, maxIDBytes) }

// validateNamespace refuses what cannot stand in front of every key. Braces mark what a cluster hashes of a key, so
// inside of them there can be no others.
func validateNamespace(ns string) error {
	if err := validateWord("namespace", ns, maxNamespaceBytes); err != nil {
		return err
	}
	if strings.ContainsAny(ns, "{}") {
		return &InvalidError{What: "namespace", Value: quoted(ns), Remedy: "use one without { and }"}
	}
	return nil
}

func validateWord(what, word string, most int) error {
	refuse := func(remedy string) error { return &InvalidError{What: what, Value: quoted(word), Remedy: remedy} }
	if word == "" {
		return &InvalidError{What: what, Value: "empty", Remedy: fmt.Sprintf("use 1 to %d bytes of UTF-8", most)}
	}
	if len(word) > most {
		return &InvalidError{What: what, Value: fmt.Sprintf("%s, which has %d bytes", quoted(word), len(word)),
			Remedy: fmt.Sprintf("use at most %d", most)}
	}
	if isPlain(word) {
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

// isPlain tells whether a word is printable ASCII that JSON writes as it stands: nearly all are.
func isPlain(word string) bool {
	for i := range len(word) {
		if c := word[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// quoted shows a value in an error, cut where it is long.
func quoted(value string) string {
	const most = 60
	if len(value) <= most {
		return fmt.Sprintf("%q", value)
	}
	return fmt.Sprintf("%q...", strings.ToValidUTF8(value[:most], ""))
}
