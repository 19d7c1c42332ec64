package inspect_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/ids"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// cursors are one of each kind.
func cursors() map[string]string {
	line := &rdb.QueueCursor{Newest: true, At: 1_000_000, Length: 2_000_000, Front: 7, Before: []rdb.Anchor{1, 2, 3, 4},
		Behind: []rdb.Anchor{5, 6, 7, 1<<32 - 1}}
	shelf := inspect.Mark{Score: "1767225600000.000244140625", ID: ids.Job(time.Now())}
	return map[string]string{
		"page of a queue": inspect.EncodeCursor(inspect.PageCursor{State: work.StateQueued, Name: "create_watch",
			Newest: true, Mark: inspect.Mark{Line: line}}),
		"page of a shelf": inspect.EncodeCursor(inspect.PageCursor{State: work.StateDead, Mark: shelf}),
		"search": inspect.EncodeCursor(inspect.SearchCursor{Search: strings.Repeat("f", 16), State: work.StateScheduled,
			Mark: shelf, Through: 123_456_789, Exact: true}),
		"search in a queue": inspect.EncodeCursor(inspect.SearchCursor{Search: strings.Repeat("f", 16),
			State: work.StateQueued, Name: "n", Mark: inspect.Mark{Line: line}, Through: 2000}),
	}
}

func TestCursorsAreShort(t *testing.T) {
	t.Parallel()
	for name, cursor := range cursors() {
		assert.Less(t, len(cursor), 120, "%s: %s", name, cursor)
	}
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		k.EnqueueNumbers("create_watch", 0, 100)
		for range 100 {
			k.Later("create_watch", time.Hour)
		}
		for _, opts := range []inspect.PageOptions{{State: work.StateQueued, Name: "create_watch", Limit: 40},
			{State: work.StateScheduled, Limit: 40}} {
			page, err := k.hands().Page(k.Ctx(), opts)
			require.NoError(t, err)
			assert.Less(t, len(page.Next), 120, "%s", opts.State)
			assert.Greater(t, len(page.Next), 20)
		}
	})
}

// A letter that was lost, changed or added must not lead elsewhere.
func TestADamagedCursorIsRefused(t *testing.T) {
	t.Parallel()
	for name, cursor := range cursors() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := func(text string) {
				var page inspect.PageCursor
				var search inspect.SearchCursor
				assert.Error(t, inspect.DecodeCursor(text, &page), text)
				assert.Error(t, inspect.DecodeCursor(text, &search), text)
			}
			for i := range cursor {
				refused(cursor[:i])
				refused(cursor[:i] + cursor[i+1:])
				other := byte('A')
				if cursor[i] == other {
					other = 'B'
				}
				refused(cursor[:i] + string(other) + cursor[i+1:])
			}
			refused(cursor + "A")
			refused(cursor + cursor)
		})
	}
}

// What is no cursor is refused, and what is comes back as it was.
func FuzzCursor(f *testing.F) {
	f.Add("")
	for _, cursor := range cursors() {
		f.Add(cursor)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, seal := range []bool{false, true} {
			if seal { // as if it had the right checksum: what is behind it must stand on its own
				text = inspect.SealCursor([]byte(text))
			}
			var page, pageAgain inspect.PageCursor
			if inspect.DecodeCursor(text, &page) == nil {
				require.NoError(t, inspect.DecodeCursor(inspect.EncodeCursor(page), &pageAgain))
				assert.Equal(t, fmt.Sprintf("%+v", page.Mark.Line), fmt.Sprintf("%+v", pageAgain.Mark.Line))
				page.Mark.Line, pageAgain.Mark.Line = nil, nil
				assert.Equal(t, page, pageAgain)
			}
			var search, searchAgain inspect.SearchCursor
			if inspect.DecodeCursor(text, &search) == nil {
				require.NoError(t, inspect.DecodeCursor(inspect.EncodeCursor(search), &searchAgain))
				search.Mark.Line, searchAgain.Mark.Line = nil, nil
				assert.Equal(t, search, searchAgain)
			}
		}
	})
}
