package limit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
)

// What code declares goes with its queue, unless somebody needs it or has declared it since.
func TestALimitThatLeavesWithItsQueue(t *testing.T) {
	t.Parallel()
	one, two := rdb.Limit{Concurrent: 1}, rdb.Limit{Concurrent: 2}
	declared := rdb.Rule{Limit: one, Service: "a", Code: one}
	for name, row := range map[string]struct {
		before    rdb.Rule
		served    bool
		meanwhile *limit.Declaration
		want      rdb.Rule
	}{
		"nobody serves it": {before: declared},
		"a worker does":    {before: declared, served: true, want: declared},
		"an operator's goes": {served: true, want: declared,
			before: rdb.Rule{Paused: true, Limit: two, Operator: true, Service: "a", Code: one}},
		"an operator's alone goes": {before: rdb.Rule{Limit: two, Operator: true}, served: true},
		"declared anew": {before: declared, want: rdb.Rule{Limit: two, Service: "b", Code: two},
			meanwhile: &limit.Declaration{Service: "b", Limit: func(string) rdb.Limit { return two },
				Replaced: func(string, rdb.Rule, rdb.Rule) {}}},
		"by the same service": {before: declared, want: declared,
			meanwhile: &limit.Declaration{Service: "a", Limit: func(string) rdb.Limit { return one }}},
		"by who was taken for dead": {before: declared, want: declared,
			meanwhile: &limit.Declaration{Service: "a", Limit: func(string) rdb.Limit { return one }, Missing: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				change := func(apply func(*rdb.Rule)) {
					require.NoError(t, limit.One(k.ctx(), k.Store, "n", apply))
				}
				change(func(rule *rdb.Rule) { *rule = row.before })
				for range 2 { // by two who destroy it
					change(limit.Leave)
					assert.Equal(t, row.before.Limit, k.rule("n").Limit, "it is in force until then")
				}
				if row.meanwhile != nil {
					row.meanwhile.Store = k.Store
					require.NoError(t, row.meanwhile.Declare(k.ctx(), []string{"n"}))
				}
				for range 2 {
					change(func(rule *rdb.Rule) { limit.Left(rule, row.served) })
					assert.Equal(t, row.want, k.rule("n"))
				}
			})
		})
	}
}

// Who brings back what is missing touches nothing that was declared meanwhile.
func TestMissingLimitsAreDeclaredAlone(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		newer := rdb.Rule{Limit: rdb.Limit{Concurrent: 7}, Service: "a", Code: rdb.Limit{Concurrent: 7}}
		require.NoError(t, limit.One(k.ctx(), k.Store, "n", func(rule *rdb.Rule) { *rule = newer }))
		d := limit.Declaration{Store: k.Store, Service: "a", Missing: true,
			Limit:    func(string) rdb.Limit { return rdb.Limit{Concurrent: 1} },
			Replaced: func(string, rdb.Rule, rdb.Rule) { t.Error("it tells of a change") }}
		require.NoError(t, d.Declare(k.ctx(), []string{"m", "n"}))
		assert.Equal(t, newer, k.rule("n"))
		assert.Equal(t, rdb.Rule{Limit: rdb.Limit{Concurrent: 1}, Service: "a", Code: rdb.Limit{Concurrent: 1}},
			k.rule("m"))
	})
}
