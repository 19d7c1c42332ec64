package work

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestErrorKind(t *testing.T) {
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
		{"nothing", "", ""},
		{"a stand-in again", `user # "…"`, `user # "…"`},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.want, errorKind(row.text))
		})
	}
	t.Run("a long one", func(t *testing.T) {
		t.Parallel()
		kind := errorKind(strings.Repeat("long ", 100))
		assert.LessOrEqual(t, len(kind), maxGroupMessage)
		assert.True(t, strings.HasSuffix(kind, "…"), kind)
		assert.Equal(t, kind, errorKind(strings.Repeat("long ", 300)), "what comes behind does not count")
	})
}

func FuzzErrorKind(f *testing.F) {
	for _, text := range []string{`user 12 "x" 0b14f7a2-9c1e-4c53-8d7b-51a6f0e3c9d8`, "'", "0x1", "\xff\x00",
		"1.2,3."} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		kind := errorKind(text)
		assert.LessOrEqual(t, len(kind), maxGroupMessage)
		assert.Equal(t, kind, strings.ToValidUTF8(kind, "?"))
		assert.NotContains(t, kind, "\x00")
		assert.False(t, strings.ContainsAny(kind, "0123456789"), kind)
	})
}

// TestAGroupOfErrorsIsRetried: the digest of a group selects its jobs.
func TestAGroupOfErrorsIsRetried(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var mended atomic.Bool
		find := func(user int) error {
			switch {
			case mended.Load():
				return nil
			case user == 3:
				return errors.New("timeout")
			}
			return fmt.Errorf("user %d not found", user)
		}
		pool := k.start(NewWorkerPool(nil, 2, k.options()).
			JobWithOptions("find", JobOptions{Retries: -1}, find).JobWithOptions("send", JobOptions{Retries: -1}, find))
		var lost []string
		for user := range 5 {
			k.enqueue("find", user)
			if id := k.enqueue("send", user).ID; user != 3 {
				lost = append(lost, id)
			}
		}
		require.NoError(t, pool.Drain(k.ctx()))
		i := k.inspector()
		var group ErrorGroup
		k.until("the heartbeat has told", func() bool {
			groups, err := i.Errors(k.ctx(), "send")
			require.NoError(t, err)
			if len(groups) < 2 {
				return false
			}
			group = groups[0]
			return group.Count == 4
		})
		assert.Equal(t, "user # not found", group.Message)
		found, err := i.Search(k.ctx(), Selection{ErrorGroup: group.Digest}, SearchOptions{})
		require.NoError(t, err)
		assert.Len(t, found.Jobs, 4)

		mended.Store(true)
		report, err := i.Bulk(k.ctx(), Selection{State: StateDead, ErrorGroup: group.Digest}, ActionRetryNow(),
			BulkOptions{})
		require.NoError(t, err)
		assert.Equal(t, 4, report.Done)
		var done []string
		for range lost {
			done = append(done, await(t, k.spy, func(e event.JobDone) bool { return !slices.Contains(done, e.ID) }).ID)
		}
		assert.ElementsMatch(t, lost, done)
		assert.Equal(t, 6, k.number("ZCARD", "morgue"), "all others stay")
	})
}
