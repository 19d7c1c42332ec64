// Package nearest finds what somebody meant who has mistyped a word.
package nearest

import (
	"fmt"
	"slices"
	"strings"
)

// Most is how many known words are compared with one: about 5 ms, and where all are long and much alike 30.
const Most = 10_000

// separators are written one for the other: create-watch for create_watch.
var separators = strings.NewReplacer("-", "_", ".", "_", ":", "_", "/", "_", " ", "_")

// Word is the known word that is fewest typos away from word, of equal ones the first in order, or empty where all are
// too far: more than two, or a quarter of a long word. Upper case and the kind of separators do not count. Of more than
// [Most] known words it sees the first.
func Word(word string, known []string) string {
	wanted := plain(word)
	best, distance := "", min(max(2, len(wanted)/4), 4, (len(wanted)+1)/2)+1
	for _, candidate := range known[:min(len(known), Most)] {
		d := typos(wanted, plain(candidate), distance)
		if d < distance || d == distance && best != "" && candidate < best {
			best, distance = candidate, d
		}
	}
	return best
}

// DidYouMean is `did you mean "..."?` with the nearest word in quotes by quote, or empty.
func DidYouMean(word string, known []string, quote func(string) string) string {
	if best := Word(word, known); best != "" {
		return fmt.Sprintf("did you mean %s?", quote(best))
	}
	return ""
}

func plain(word string) string { return separators.Replace(strings.ToLower(word)) }

// typos counts the letters to insert, delete or replace to get from a to b, or is more than most: it does not count on.
func typos(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
		if slices.Min(row) > most { // it only grows from here
			return most + 1
		}
	}
	return row[len(b)]
}
