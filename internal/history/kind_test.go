package history_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/history"
)

func TestKind(t *testing.T) {
	t.Parallel()
	rows := []struct{ name, text, want string }{
		{"a number", "user 12 not found", "user # not found"},
		{"several numbers", "row 3 of 400", "row # of #"},
		{"a point in a number", "took 1.5s", "took #s"},
		{"no point in a number", "took 12s", "took #s"},
		{"thousands", "1,234,567.89 too much", "# too much"},
		{"the end of a sentence", "user 12. Bye", "user #. Bye"},
		{"an address", "dial tcp 10.0.0.1:6379: refused", "dial tcp #:#: refused"},
		{"a time", "at 2026-03-01T12:30:05.123Z", "at #-#-#T#:#:#Z"},
		{"a uuid", "order 0b14f7a2-9c1e-4c53-8d7b-51a6f0e3c9d8 is gone", "order # is gone"},
		{"a uuid in capitals", "0B14F7A2-9C1E-4C53-8D7B-51A6F0E3C9D8", "#"},
		{"no uuid", "0b14f7a2-9c1e-4c53-8d7b-51a6f0e3c9d8x", "#-#c#e-#c#-#d#b-#a#f#e#c#d#x"},
		{"hex", "commit 9fceb02 fails", "commit # fails"},
		{"hex behind 0x", "at 0xFF, 0xc000123456", "at #, #"},
		{"nothing behind 0x", "0x", "#x"},
		{"a word of hex letters", "a decade facade", "a decade facade"},
		{"a short word of hex digits", "c0de", "c#de"},
		{"a long id", "01ARZ3NDEKTSV4RRFFQ69G5FAV is there", "# is there"},
		{"a long word", "internationalization", "internationalization"},
		{"a name with a number", "utf8 on node7", "utf# on node#"},
		{"quotes", `no such file "a b.txt"`, `no such file "…"`},
		{"quotes in quotes", `got "a \" b", want 'c'`, `got "…", want '…'`},
		{"backquotes", "near `select 1`", "near `…`"},
		{"an apostrophe", "can't open user's file", "can't open user's file"},
		{"an apostrophe in quotes", "no 'user's file'", "no '…'"},
		{"an open quote", `a " b 12`, `a " b #`},
		{"white space", " a\n\t b  ", "a b"},
		{"control characters", "a\x00b\x1b[c", "ab[c"},
		{"no UTF-8", "a\xffb", "a\uFFFDb"},
		{"another script", "用户 12 不存在", "用户 # 不存在"},
		{"a file", "line 17 of stock.csv has 3 columns", "line # of #.csv has # columns"},
		{"a file at the end", "cannot read Prices-2.CSV.", "cannot read #.csv."},
		{"a file in a folder", "open in/2026-03/a.b.json: no such file", "open #.json: no such file"},
		{"a file of two endings", "gzip: backup.tar.gz: invalid header", "gzip: #.gz: invalid header"},
		{"an ending with a digit", "cannot cut a.mp4, b.7z", "cannot cut #.mp#, #.#z"},
		{"another script in a name", "größe_ü.txt fehlt", "#.txt fehlt"},
		{"a path", "mkdir /var/lib/up-7/x: denied", "mkdir #: denied"},
		{"a path from here", "stat ./out/x, ../y, ~/z", "stat #, #, #"},
		{"a path in brackets", "(/tmp/a=1)", "(#)"},
		{"a path of a drive", `open C:\in\a b, D:/x.pdf`, "open # b, #.pdf"},
		{"a file of source code", "panic at site.go:17, a/b.py", "panic at site.go:#, a/b.py"},
		{"a path of source code", "at /opt/app/main.go:7", "at /opt/app/main.go:#"},
		{"a function", "browsertest.refund: io.EOF", "browsertest.refund: io.EOF"},
		{"an address", "GET https://a.example.com/v1/x.json: 500", "GET https://a.example.com/v#/x.json: #"},
		{"a route", "POST /users/12: 500", "POST /users/#: #"},
		{"a type of media", "wanted application/json, and/or text", "wanted application/json, and/or text"},
		{"a file without a name", "no .csv or .json", "no .csv or .json"},
		{"a root alone", "chdir /tmp/ or ./ fails", "chdir /tmp/ or ./ fails"},
		{"nothing", "", ""},
		{"a stand-in again", `user # "…" #.csv`, `user # "…" #.csv`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, history.Kind(row.text))
		})
	}
	t.Run("a long one", func(t *testing.T) {
		t.Parallel()
		kind := history.Kind(strings.Repeat("long ", 100))
		assert.LessOrEqual(t, len(kind), history.MaxGroupMessage)
		assert.True(t, strings.HasSuffix(kind, "…"), kind)
		assert.Equal(t, kind, history.Kind(strings.Repeat("long ", 300)), "what comes behind does not count")
	})
}

// What failed for another reason, in another place of the program or at another address, is of another kind.
func TestDifferentCausesAreOfDifferentKinds(t *testing.T) {
	t.Parallel()
	by := map[string]string{}
	for _, text := range []string{
		"open a.csv: no such file", "open a.csv: permission denied", "open a.json: no such file",
		"open a.go: no such file", "open b.go: no such file", "mkdir /tmp/a: no such file",
		"rmdir /tmp/a: no such file",
		"GET https://a.example.com/x: refused", "GET https://b.example.com/x: refused",
		"GET https://a.example.com/a.json: refused", "POST /orders: 500", "POST /refunds: 500",
		"read a.csv: line is too long", "read a.csv: field is too long", "a.b: io.EOF", "a.c: io.EOF",
	} {
		kind := history.Kind(text)
		assert.NotContains(t, by, kind, text)
		by[kind] = text
	}
}

func FuzzKind(f *testing.F) {
	for _, text := range []string{`open /tmp/ü.mp3 in C:\a.7z, ./.csv`, `user 12 "x" 0b14f7a2-9c1e-4c53-8d7b-51a6f0e3c9d8`, "'", "0x1", "\xff\x00",
		"1.2,3."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind := history.Kind(text)
		assert.LessOrEqual(t, len(kind), history.MaxGroupMessage)
		assert.Equal(t, kind, strings.ToValidUTF8(kind, "?"))
		assert.NotContains(t, kind, "\x00")
		assert.False(t, strings.ContainsAny(kind, "0123456789"), kind)
	})
}
