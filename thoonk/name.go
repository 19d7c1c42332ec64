package thoonk

import "strings"

// MaxName is how many bytes the name of a feed or an id may have, and MaxItem how many an encoded item.
const (
	MaxName = 1024
	MaxItem = 64 << 20
)

// checkName refuses names that other names could be confused with: in events a NUL ends them.
func checkName(what, name string) error {
	refused := &NameError{What: what, Name: name}
	switch {
	case name == "":
		refused.Reason = "is empty: give it at least one character"
	case len(name) > MaxName:
		refused.Reason = "is longer than 1024 bytes: choose a shorter one"
	case strings.ContainsRune(name, 0):
		refused.Reason = "holds a NUL, which ends it in events: choose another one"
	default:
		return nil
	}
	return refused
}

// checkJobID also refuses a colon: the key of a result is the name of the feed, a colon and the id, and a name may have
// colons.
func checkJobID(id string) error {
	if strings.Contains(id, ":") {
		return &NameError{What: "id", Name: id,
			Reason: "holds a colon, which in a job feed would confuse its result with that of another feed: choose " +
				"another one"}
	}
	return checkName("id", id)
}
