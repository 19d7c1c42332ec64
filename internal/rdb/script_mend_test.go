package rdb_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
)

// A repair asks again at that moment: what has come right since it was read is left alone.
func TestReclaimDecidesByWhatIsThereNow(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before func(t *testing.T, s *site) // before the elements are read
		after  func(t *testing.T, s *site)
		want   string
	}{
		"claimed":   {want: "ok"},
		"unclaimed": {before: func(t *testing.T, s *site) { s.cmd(t, "HDEL", "claimed", "a1") }, want: "unclaimed"},
		"ended": {before: func(t *testing.T, s *site) { s.cmd(t, "HDEL", "claimed", "a1") },
			after: func(t *testing.T, s *site) { s.cmd(t, "UNLINK", "worker:w1:inprocess:a") }, want: "ok"},
		"claimed since": {before: func(t *testing.T, s *site) { s.cmd(t, "HDEL", "claimed", "a1") },
			after: func(t *testing.T, s *site) { s.cmd(t, "HSET", "claimed", "a1", "w2 1 1 a") }, want: "ok"},
		"fenced, with a heartbeat": {after: func(t *testing.T, s *site) { s.cmd(t, "SREM", "workers", "w1") },
			want: "ok"},
		"unknown": {after: func(t *testing.T, s *site) {
			s.cmd(t, "SREM", "workers", "w1")
			s.cmd(t, "UNLINK", "worker:w1")
		}, want: "stray"},
		"dead, to be reaped": {after: func(t *testing.T, s *site) {
			s.cmd(t, "SMOVE", "workers", s.key("dead"), "w1")
			s.cmd(t, "UNLINK", "worker:w1")
		}, want: "ok"},
		"unclaimed, and on a shelf": {before: func(t *testing.T, s *site) { s.cmd(t, "HDEL", "claimed", "a1") },
			after: func(t *testing.T, s *site) { s.cmd(t, "ZADD", "retry", 5, "a1") }, want: "elsewhere"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				s.enqueue(t, "a", "a1")
				s.take(t, s.worker(t, "w1", "a"), 1, 1, "a")
				if tt.before != nil {
					tt.before(t, s)
				}
				elements, err := s.store.Elements(t.Context(), "w1", "a", 0)
				require.NoError(t, err)
				require.Len(t, elements, 1)
				if tt.after != nil {
					tt.after(t, s)
				}
				before := s.dump(t)
				answers, err := rdb.Mender{Store: s.store}.AgreeClaims(t.Context(), elements)
				require.NoError(t, err)
				assert.Equal(t, []string{tt.want}, answers)
				assert.Equal(t, before, s.dump(t), "a look changes nothing")
				answers, err = rdb.Mender{Store: s.store, Mend: true}.AgreeClaims(t.Context(), elements)
				require.NoError(t, err)
				assert.Equal(t, []string{tt.want}, answers)
				if tt.want == "ok" {
					assert.Equal(t, before, s.dump(t))
				} else {
					assert.NotEqual(t, before, s.dump(t))
				}
			})
		})
	}
}
