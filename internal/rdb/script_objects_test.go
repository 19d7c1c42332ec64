package rdb_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
)

// Scripts of objects refuse a key of another type by name, before they have written anything.
func TestScriptsOfObjectsRefuseAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	upload := rdb.Upload{SHA: "ab", Token: "t", Content: []byte("content")}
	calls := map[string]func(o rdb.Objects) error{
		"touch":   func(o rdb.Objects) error { _, err := o.Touch(background, "ab", 7); return err },
		"reserve": func(o rdb.Objects) error { _, err := o.Reserve(background, "ab"); return err },
		"keep":    func(o rdb.Objects) error { _, err := o.Keep(background, upload); return err },
		"refer":   func(o rdb.Objects) error { _, _, err := o.Refer(background, "ab", []string{"a1"}); return err },
		"unrefer": func(o rdb.Objects) error { _, err := o.Unrefer(background, "ab", []string{"a1"}); return err },
		"gone":    func(o rdb.Objects) error { return o.Gone(background, "ab", "m") },
		"drop": func(o rdb.Objects) error {
			_, err := o.Drop(background, rdb.Removal{}, []string{"ab"})
			return err
		},
	}
	for _, row := range []struct{ call, key string }{
		{"touch", "objects"}, {"touch", "object:ab"}, {"reserve", "objects"}, {"reserve", "object:ab:leaving"},
		{"keep", "objects"}, {"keep", "object:ab"}, {"keep", "object:ab:upload:t"},
		{"refer", "objects"}, {"refer", "object:ab"}, {"refer", "object:ab:jobs"}, {"unrefer", "object:ab:jobs"},
		{"gone", "object:ab:leaving"}, {"drop", "objects"},
	} {
		t.Run(row.call+" "+row.key, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.cmd(t, "SET", "object:ab", "content")
				s.cmd(t, "ZADD", "objects", 5, "ab")
				s.cmd(t, "UNLINK", row.key)
				s.cmd(t, "RPUSH", row.key, "a list")
				before := s.dump(t)
				err := calls[row.call](rdb.Objects{Store: s.store})
				var refused *redisconn.ServerError
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, "BADKEY", refused.Code)
				assert.ErrorContains(t, err, s.key(row.key)+" has the wrong type")
				assert.Equal(t, before, s.dump(t))
			})
		})
	}
}

// One object with a broken key is left to the doctor, and does not keep the collector from the others.
func TestABrokenObjectDoesNotKeepTheOthersFromGoing(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"object:ab", "object:ab:jobs", "object:ab:leaving"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.cmd(t, "ZADD", "objects", 5, "ab", 5, "cd")
				s.cmd(t, "SET", "object:cd", "content")
				s.cmd(t, "RPUSH", key, "a list")
				o := rdb.Objects{Store: s.store}
				dropped, err := o.Drop(t.Context(), rdb.Removal{Grace: time.Hour}, []string{"ab", "cd", "ef"})
				require.NoError(t, err)
				assert.Equal(t, []string{"cd"}, dropped)
				assert.True(t, s.exists(t, key))
				assert.False(t, s.exists(t, "object:cd"))
				_, page, err := o.Page(t.Context(), "0")
				require.NoError(t, err)
				require.Len(t, page, 1)
				assert.Equal(t, "ab", page[0].SHA)
				if key == "object:ab:jobs" {
					assert.Equal(t, -1, page[0].References)
				}
			})
		})
	}
}

// A key that somebody made enormous is not read.
func TestAnObjectThatIsTooLongIsNotRead(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *site) {
		s.cmd(t, "SET", "object:ab", "content")
		o := rdb.Objects{Store: s.store}
		got, err := o.Content(t.Context(), "ab", 6)
		require.NoError(t, err)
		assert.Equal(t, rdb.Content{Length: 7, Found: true}, got)
		got, err = o.Content(t.Context(), "ab", 7)
		require.NoError(t, err)
		assert.Equal(t, rdb.Content{Bytes: []byte("content"), Length: 7, Found: true}, got)
	})
}
