package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/maintain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// brokenFlow is a way in which a flow of "first" and "second", which waits for it, may be wrong.
type brokenFlow struct {
	name    string
	check   Check
	id      string // of the finding
	stored  bool   // instead of being only stored in part
	damage  func(k *kit)
	healed  func(t *testing.T, k *kit, i *inspect.Inspector)
	remains bool // it is only reported
	inner   bool // there is a flow "in" in it as well, which has a job "deep" and begins with "first"
}

func brokenFlows() []brokenFlow {
	state := func(want flow.State) func(*testing.T, *kit, *inspect.Inspector) {
		return func(t *testing.T, k *kit, i *inspect.Inspector) {
			info, err := i.Flow(k.Ctx(), "f")
			require.NoError(t, err)
			assert.Equal(t, want, info.State)
		}
	}
	gone := func(t *testing.T, k *kit, i *inspect.Inspector) {
		_, err := i.Flow(k.Ctx(), "f")
		require.ErrorIs(t, err, flow.ErrNoFlow)
		assert.Zero(t, k.Number("EXISTS", "flow.left:f"))
	}
	return []brokenFlow{
		{name: "a member is gone", check: CheckFlow, id: "f/first", stored: true, damage: func(k *kit) {
			k.Do("HDEL", "jobs", "f/first")
			k.Do("LREM", "queue:a", 0, "f/first")
		}, healed: state(flow.DeadEnded)},
		{name: "a ready member is in no queue", check: CheckFlow, id: "f/second", stored: true, damage: func(k *kit) {
			k.Do("UNLINK", "flow.unmet:f")
		}, healed: func(t *testing.T, k *kit, _ *inspect.Inspector) {
			assert.Equal(t, []string{"f/second"}, k.Strings("LRANGE", "queue:b", 0, -1))
		}},
		{name: "an end was not told", check: CheckFlow, id: "f/second", stored: true, damage: func(k *kit) {
			k.Do("SREM", "flow.left:f", "first")
			k.Do("HDEL", "jobs", "f/first")
			k.Do("LREM", "queue:a", 0, "f/first")
		}, healed: func(t *testing.T, k *kit, _ *inspect.Inspector) {
			assert.Equal(t, []string{"f/second"}, k.Strings("LRANGE", "queue:b", 0, -1))
		}},
		{name: "all have ended, and it has not", check: CheckFlow, id: "f", stored: true, damage: func(k *kit) {
			k.Do("UNLINK", "flow.left:f")
			k.Do("HDEL", "jobs", "f/first")
			k.Do("LREM", "queue:a", 0, "f/first")
		}, healed: state(flow.Done)},
		{name: "nobody goes on with it", check: CheckFlow, id: "f", stored: true, damage: func(k *kit) {
			k.Do("UNLINK", "flow.unmet:f")
			k.Do("RPUSH", "flow.todo:f", "rsecond")
			k.Do("ZADD", "flows:busy", 1000, "f")
		}, healed: func(t *testing.T, k *kit, _ *inspect.Inspector) {
			assert.Equal(t, []string{"f/second"}, k.Strings("LRANGE", "queue:b", 0, -1))
			assert.Zero(t, k.Number("ZCARD", "flows:busy"))
		}},
		{name: "not sealed for a day", check: CheckFlowLeftover, id: "f", damage: func(k *kit) {
			k.Do("ZADD", "flows:filling", time.Now().Add(-25*time.Hour).UnixMilli(), "f")
		}, healed: gone},
		{name: "keys of a flow that is gone", check: CheckFlowLeftover, id: "f", damage: func(k *kit) {
			k.Do("UNLINK", "flow:f")
			k.Do("ZREM", "flows", "f")
		}, healed: gone},
		{name: "a list names a flow that is gone", check: CheckFlowLeftover, id: "g",
			damage: func(k *kit) { k.Do("ZADD", "flows", 1, "g") },
			healed: func(t *testing.T, k *kit, _ *inspect.Inspector) {
				assert.Equal(t, []string{"f"}, k.Strings("ZRANGE", "flows", 0, -1))
			}},
		{name: "members whose flow is gone", check: CheckFlowLeftover, id: "f/first", stored: true, remains: true,
			damage: func(k *kit) {
				for _, part := range []string{"", ".records", ".members", ".left", ".edges", ".unmet"} {
					k.Do("UNLINK", "flow"+part+":f")
				}
				k.Do("ZREM", "flows", "f")
			}, healed: func(t *testing.T, k *kit, _ *inspect.Inspector) {
				assert.Equal(t, 1, k.Number("HEXISTS", "jobs", "f/first"), "it may be wanted")
			}},
		{name: "a flow in a flow has not begun", check: CheckFlow, id: "f/in", inner: true, stored: true,
			damage: func(k *kit) {
				k.Do("HSET", "flow:f/in", "state", "held")
				k.Do("HDEL", "jobs", "f/in/deep")
				k.Do("LREM", "queue:a", 0, "f/in/deep")
				k.Do("HSET", "flow.records:f/in", "deep", "a\n{}")
				k.Do("RPUSH", "flow.todo:f/in", "rdeep")
			}, healed: func(t *testing.T, k *kit, _ *inspect.Inspector) {
				assert.Equal(t, 1, k.Number("HEXISTS", "jobs", "f/in/deep"))
			}},
		{name: "the end of a flow in a flow was not told", check: CheckFlow, id: "f/in", inner: true, stored: true,
			damage: func(k *kit) {
				k.Do("HSET", "flow:f/in", "state", "done")
				k.Do("SREM", "flow.left:f/in", "deep")
				k.Do("HDEL", "jobs", "f/in/deep")
				k.Do("LREM", "queue:a", 0, "f/in/deep")
			}, healed: func(t *testing.T, k *kit, _ *inspect.Inspector) {
				assert.Zero(t, k.Number("SISMEMBER", "flow.left:f", "in"))
			}},
		{name: "a flow in a flow is gone", check: CheckFlow, id: "f/in", inner: true, stored: true,
			damage: func(k *kit) {
				for _, key := range []string{"flow:", "flow.left:", "flow.members:"} {
					k.Do("UNLINK", key+"f/in")
				}
				k.Do("HDEL", "jobs", "f/in/deep")
				k.Do("LREM", "queue:a", 0, "f/in/deep")
			}, healed: func(t *testing.T, k *kit, _ *inspect.Inspector) {
				assert.Equal(t, "5", k.Text("ZSCORE", "flow.ends:f", "in"), "it counts as deleted")
			}},
		{name: "a member of a flow in a flow is gone", check: CheckFlow, id: "f/in/deep", inner: true, stored: true,
			damage: func(k *kit) {
				k.Do("HDEL", "jobs", "f/in/deep")
				k.Do("LREM", "queue:a", 0, "f/in/deep")
			}, healed: func(t *testing.T, k *kit, i *inspect.Inspector) {
				info, err := i.Flow(k.Ctx(), "f/in")
				require.NoError(t, err)
				assert.Equal(t, flow.DeadEnded, info.State)
				assert.Equal(t, "1", k.Text("ZSCORE", "flow.ends:f", "in"))
			}},
		{name: "the flow that one is in is gone", check: CheckFlowLeftover, id: "f/in", inner: true, stored: true,
			damage: func(k *kit) {
				for _, part := range []string{"", ".records", ".members", ".left", ".edges", ".unmet"} {
					k.Do("UNLINK", "flow"+part+":f")
				}
				k.Do("ZREM", "flows", "f")
				for _, name := range []string{"first", "in/deep"} {
					k.Do("HDEL", "jobs", "f/"+name)
					k.Do("LREM", "queue:a", 0, "f/"+name)
				}
			}, healed: func(t *testing.T, k *kit, _ *inspect.Inspector) {
				assert.Zero(t, k.Number("EXISTS", "flow:f/in"))
				assert.Zero(t, k.Number("EXISTS", "flow.members:f/in"))
			}},
	}
}

// begin stores the flow, or a part of it.
func (b *brokenFlow) begin(k *kit) {
	f := flow.New("f")
	f.Job("b").Named("second").After(f.Job("a").Named("first"))
	if b.inner {
		in := flow.New("")
		in.Job("a").Named("deep")
		f.Flow("in", in)
	}
	if b.stored {
		_, err := flow.Enqueue(k.Ctx(), k.Enq, f)
		require.NoError(k.T, err)
		require.NoError(k.T, maintain.AdvanceFlows(k.Ctx(), pooltest.StoreOf(k.Enq)))
		return
	}
	_, err := flow.Batch(k.Ctx(), k.Enq, "f", func(yield func(work.Entry) bool) {
		for range 500 {
			if !yield(work.Entry{Name: "a"}) {
				return
			}
		}
		yield(work.Entry{})
	})
	require.Error(k.T, err)
}

func TestBrokenFlowsAreFoundAndRepaired(t *testing.T) {
	t.Parallel()
	for _, b := range brokenFlows() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				b.begin(k)
				i := k.inspector()
				found := func(repair bool) (mine []Finding) {
					d, err := Examine(k.Ctx(), i, Options{Patience: soon, Repair: repair})
					require.NoError(t, err)
					for _, f := range d.Findings {
						if f.Check == CheckFlow || f.Check == CheckFlowLeftover {
							mine = append(mine, f)
						}
					}
					return mine
				}
				require.Empty(t, found(false), "it is sound")
				b.damage(k)
				looked := found(false)
				require.Len(t, looked, 1)
				assert.Equal(t, []any{b.check, b.id, false}, []any{looked[0].Check, looked[0].ID, looked[0].Repaired})
				repaired := found(true)
				require.Len(t, repaired, 1)
				assert.Equal(t, !b.remains, repaired[0].Repaired, repaired[0].Detail)
				b.healed(t, k, i)
				if !b.remains {
					assert.Empty(t, found(false), "nothing is left to do")
				}
			})
		})
	}
}
