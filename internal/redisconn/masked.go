package redisconn

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// credentials are the part of a URL between its scheme and its host.
	credentials = regexp.MustCompile(`://[^\s"]*@`)
	// quotedArgs are the arguments of an AUTH or HELLO that a server does not know. It cuts them, also within a
	// password.
	quotedArgs = regexp.MustCompile(`(?s)(with args beginning with:).*`)
)

// shortest is how long a password must be to be looked for outside of quotes. A shorter one, or one that is a word or a
// number, can be in an error by chance: a mask there would tell it.
const shortest = 6

// Masked hides a password in what a server or a dialer said: in a URL, among the arguments of a command, in quotes, or
// as a whole word. It leaves words that have the password in them.
func Masked(password, text string) string {
	text = credentials.ReplaceAllString(text, "://***@")
	text = quotedArgs.ReplaceAllString(text, "$1 ***")
	if password == "" {
		return text
	}
	for _, quote := range []string{"'", `"`, "`"} {
		text = strings.ReplaceAll(text, quote+password+quote, quote+"***"+quote)
	}
	letter := strings.IndexFunc(password, unicode.IsLetter) >= 0
	other := strings.IndexFunc(password, func(r rune) bool { return !unicode.IsLetter(r) }) >= 0
	if len(password) < shortest || !letter || !other {
		return text
	}
	var masked strings.Builder
	for {
		before, after, found := strings.Cut(text, password)
		masked.WriteString(before)
		if !found {
			return masked.String()
		}
		if partOfWord(before, after) {
			masked.WriteString(password)
		} else {
			masked.WriteString("***")
		}
		text = after
	}
}

// partOfWord reports whether a word goes on where one text ends or the other begins.
func partOfWord(before, after string) bool {
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	return unicode.IsLetter(last) || unicode.IsDigit(last) || unicode.IsLetter(next) || unicode.IsDigit(next)
}
