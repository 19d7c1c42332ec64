package resize_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// Members that are dead come back to the partition of their flow with their steps, whatever whoever fetches them dies
// at; others stay where they are.
func TestDeadMembersAreFetched(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		for _, d := range redistest.SomeOn(server, []*dying{{},
			{named: "partition/freeze", at: 2}, {named: "partition/freeze", at: 2, after: true},
			{named: "partition/receive", at: 1}, {named: "partition/receive", at: 1, after: true},
			{named: "partition/hand_over", at: 1}, {named: "partition/hand_over", at: 1, after: true}}) {
			t.Run(d.named, func(t *testing.T) {
				s := newTown(t, server)
				s.namespace += d.named + map[bool]string{true: "after"}[d.after]
				s.directory = s.another(s.driver)
				ctx, die := context.WithCancel(context.Background())
				defer die()
				require.NoError(t, resize.To(ctx, s.directory, 3, nil))
				bury := func(i int, id string) {
					s.cmd(t, i, "HSET", "jobs", id, `{"jid":"`+id+`","name":"plain","args":[],"t":1,"flow":"f"}`)
					s.cmd(t, i, "HSET", "names", id, "plain")
					s.cmd(t, i, "HSET", "trail", id, `{"fails":1,"log":true,"state":true}`)
					s.cmd(t, i, "ZADD", "morgue", "5", id)
					s.cmd(t, i, "HSET", "steps:"+id, "charge", "done")
				}
				bury(1, "f/a")
				bury(2, "f/b")
				bury(0, "f/c")
				bury(1, "f/other")
				s.cmd(t, 1, "HSET", "jobs", "f/runs", `{"jid":"f/runs","name":"plain","args":[],"t":1,"flow":"f"}`)
				s.cmd(t, 1, "LPUSH", "queue:plain", "f/runs")
				ids := []string{"f/a", "f/b", "f/c", "f/runs", "f/nowhere"}
				killed := &dying{Driver: s.driver, named: d.named, at: d.at, after: d.after, die: die}
				other := s.another(killed)
				require.NoError(t, other.Refresh(ctx))
				err := resize.Fetch(ctx, other, 0, ids)
				assert.Equal(t, d.at > 0, err != nil, "%v", err)
				for i := range 3 {
					s.cmd(t, i, "UNLINK", "mover")
				}
				for range 2 {
					require.NoError(t, resize.Fetch(context.Background(), s.directory, 0, ids))
				}
				assert.Equal(t, map[string]int{"f/a": 1, "f/b": 1, "f/c": 1, "f/other": 1, "f/runs": 1}, s.records(t))
				dead := func(i int) []string { return s.texts(t, s.cmd(t, i, "ZRANGE", "morgue", 0, -1)) }
				assert.ElementsMatch(t, []string{"f/a", "f/b", "f/c"}, dead(0))
				assert.Equal(t, []string{"f/other"}, dead(1))
				assert.Equal(t, []string{"f/runs"}, s.texts(t, s.cmd(t, 1, "LRANGE", "queue:plain", 0, -1)))
				assert.Equal(t, map[string]string{"charge": "done"}, s.hash(t, 0, "steps:f/a"))
				assert.Empty(t, s.hash(t, 1, "steps:f/a"))
			})
		}
	})
}
