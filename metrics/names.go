package metrics

import (
	"strings"
	"unicode/utf8"
)

// Other is the label of all names that have none of their own. A job of that very name is counted with them.
const Other = "other"

// maxLabelBytes is how long the name of a job may be; what is longer was not written by this library.
const maxLabelBytes = 200

// names decides which names have a label of their own. It is not safe for concurrent use.
type names struct {
	most  int
	known map[string]bool
}

func newNames(most int) names { return names{most: most, known: map[string]bool{}} }

// admit gives the name a label of its own if there is room, and tells whether it has one.
func (n *names) admit(name string) bool {
	if !n.known[name] && len(n.known) < n.most {
		n.known[name] = true
	}
	return n.known[name]
}

// full tells whether no other name can get a label.
func (n *names) full() bool { return len(n.known) >= n.most }

// keep forgets all names but those for which it is true.
func (n *names) keep(exists map[string]bool) {
	for name := range n.known {
		if !exists[name] {
			delete(n.known, name)
		}
	}
}

// label is a name as Prometheus takes it. Two names may have the same one, then they count as one.
func label(name string) string {
	name = strings.ToValidUTF8(name, string(utf8.RuneError))
	if len(name) > maxLabelBytes {
		name = strings.ToValidUTF8(name[:maxLabelBytes], "")
	}
	if name == "" { // no label at all, to Prometheus
		return Other
	}
	return name
}
