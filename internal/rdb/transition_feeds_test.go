package rdb_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/thoonkdb"
	"github.com/265d0351/work/internal/redisconn"
)

// answering is a Driver that answers what is read with two ids, and keeps scripts without an answer.
type answering struct{ *recorder }

func (a answering) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	if calls[0].Script != nil {
		return a.recorder.Pipeline(ctx, calls...)
	}
	replies := make([]redisconn.Reply, len(calls))
	for i, call := range calls {
		switch replies[i].Value = []any{[]byte("x"), []byte("y")}; call.Command {
		case "SISMEMBER":
			replies[i].Value = int64(1)
		case "TYPE":
			replies[i].Value = "hash"
			if slices.Contains([]string{"{ns}:feed.ids:news", "{ns}:feed.stalled:news"}, call.Keys[0]) {
				replies[i].Value = "list"
			}
		case "HLEN":
			replies[i].Value = int64(1)
		case "HKEYS":
			if call.Keys[0] == "{ns}:feed.items:news" {
				replies[i].Value = []any{[]byte("z")} // which is nowhere else
			}
		}
	}
	return replies, nil
}

// callsOfFeeds has every method of thoonkdb that sends a script make its call.
func callsOfFeeds(r *recorder) {
	f := thoonkdb.NewStore(answering{r}, "{ns}:").Feed("news")
	ignore := func(...any) {}
	entry, claim := thoonkdb.Entry{ID: "x", Item: []byte("i")}, thoonkdb.Claim{ID: "x"}
	ignore(f.Create(background, thoonkdb.NewConfig{Content: "{}"}, "me"))
	ignore(f.Configure(background, "{}", thoonkdb.NewConfig{Content: "{}"}, "me"))
	ignore(f.Delete(background, "me"))
	ignore(f.Publish(background, "{}", entry, 5))
	ignore(f.Retract(background, "{}", "x"))
	ignore(f.Reserve(background, "{}"))
	ignore(f.Insert(background, "{}", entry, ":end"))
	ignore(f.Move(background, "{}", "x", ":end"))
	ignore(f.Edit(background, "{}", entry))
	ignore(f.Put(background, "{}", entry, thoonkdb.Place{Front: true}))
	ignore(f.Take(background, "{}"))
	ignore(f.Claim(background, "{}", "1"))
	ignore(f.Finish(background, "{}", claim, nil, 0))
	ignore(f.Cancel(background, "{}", claim))
	ignore(f.Stall(background, "{}", claim))
	ignore(f.Retry(background, "{}", "x"))
	ignore(f.Withdraw(background, "{}", "x"))
	ignore(f.ReclaimOverdue(background, "{}", thoonkdb.Age{}))
	ignore(f.RemoveExpired(background))
	ignore(f.Adopt(background, "{}"))
	callsOfRecurring(r)
}

// TestEveryScriptOfFeedsIsSent: those that are not are seen by no other test.
func TestEveryScriptOfFeedsIsSent(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	callsOfFeeds(r)
	sent, changing := map[string]bool{}, map[string]bool{}
	for _, call := range r.calls {
		sent[call.Script.Name] = true
	}
	for _, tr := range feeding() {
		changing[tr.script] = true
	}
	for _, name := range slices.Concat(scriptsIn(t, "thoonk"), scriptsIn(t, "recurring")) {
		assert.True(t, sent[name], "add %s to callsOfFeeds", name)
		assert.True(t, changing[name], "add %s to feeding", name)
	}
}

// scriptsIn are the scripts of a folder of lua/.
func scriptsIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob("../../lua/" + folder + "/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		names = append(names, folder+"/"+strings.TrimSuffix(filepath.Base(file), ".lua"))
	}
	return names
}

// storingFeeds are the scripts that a full Redis refuses.
var storingFeeds = []string{
	"thoonk/create", "thoonk/configure", "thoonk/publish", "thoonk/reserve", "thoonk/insert", "thoonk/edit",
	"thoonk/put", "recurring/define", "recurring/add",
}

const feedConfig = `{"type":"job"}`

// feeds are those of a site: their prefix is what its keys begin with.
func (s *site) feeds(driver redisconn.Driver) *thoonkdb.Feed {
	return thoonkdb.NewStore(driver, s.key("")).Feed("news")
}

// fed has a feed with the jobs j1 (at the front) to j5, of which so many are claimed, by the tokens 1, 2, ...
func fed(claimed int) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		f := s.feeds(s.driver)
		created, err := f.Create(background, thoonkdb.NewConfig{Content: feedConfig}, "me")
		require.NoError(t, err)
		require.True(t, created)
		for _, id := range []string{"j1", "j2", "j3", "j4", "j5"} {
			entry := thoonkdb.Entry{ID: id, Item: []byte("item " + id)}
			put, err := f.Put(background, feedConfig, entry, thoonkdb.Place{})
			require.NoError(t, err)
			require.True(t, put)
		}
		for i := range claimed {
			_, err := f.Claim(background, feedConfig, string(rune('1'+i)))
			require.NoError(t, err)
		}
	}
}

// feeding are the scripts of thoonkdb, with all branches that write.
func feeding() []transition {
	of := func(name string, prepare func(*testing.T, *site), send func(f *thoonkdb.Feed) (any, error)) transition {
		script, _, _ := strings.Cut(name, ",")
		return transition{
			name: name, script: script, prepare: prepare, storing: slices.Contains(storingFeeds, script),
			send: func(s *site, store *rdb.Store) (any, error) { return send(s.feeds(store.Driver())) },
		}
	}
	sorted := func(t *testing.T, s *site) {
		t.Helper()
		f := s.feeds(s.driver)
		_, err := f.Create(background, thoonkdb.NewConfig{Content: feedConfig}, "me")
		require.NoError(t, err)
		for _, id := range []string{"1", "2", "3"} {
			_, err := f.Insert(background, feedConfig, thoonkdb.Entry{ID: id, Item: []byte("item")}, ":end")
			require.NoError(t, err)
		}
	}
	entry, claim := thoonkdb.Entry{ID: "9", Item: []byte("new")}, thoonkdb.Claim{ID: "j1"}
	all := []transition{
		of("thoonk/configure", fed(0), func(f *thoonkdb.Feed) (any, error) {
			return nil, f.Configure(background, feedConfig,
				thoonkdb.NewConfig{Content: `{"type":"job","more":1}`}, "me")
		}),
		of("thoonk/publish", fed(0),
			func(f *thoonkdb.Feed) (any, error) { return nil, ignoring(f.Publish(background, feedConfig, entry, 3)) }),
		of("thoonk/publish, edits", fed(0), func(f *thoonkdb.Feed) (any, error) {
			return f.Publish(background, feedConfig, thoonkdb.Entry{ID: "j1", Item: []byte("new")}, 3)
		}),
		of("thoonk/retract", sorted,
			func(f *thoonkdb.Feed) (any, error) { return nil, ignoring(f.Retract(background, feedConfig, "2")) }),
		of("thoonk/edit", sorted, func(f *thoonkdb.Feed) (any, error) {
			return f.Edit(background, feedConfig, thoonkdb.Entry{ID: "2", Item: []byte("new")})
		}),
		of("thoonk/put", fed(0), func(f *thoonkdb.Feed) (any, error) {
			return nil,
				ignoring(f.Put(background, feedConfig, entry, thoonkdb.Place{}))
		}),
		of("thoonk/put, front", fed(0),
			func(f *thoonkdb.Feed) (any, error) {
				return nil, ignoring(f.Put(background, feedConfig, entry, thoonkdb.Place{Front: true}))
			}),
		of("thoonk/finish", fed(2), func(f *thoonkdb.Feed) (any, error) {
			return nil, ignoring(f.Finish(background, feedConfig, claim, nil, 0))
		}),
		of("thoonk/finish, result", fed(2), func(f *thoonkdb.Feed) (any, error) {
			return nil, ignoring(f.Finish(background, feedConfig, claim, []byte("r"), time.Hour))
		}),
		of("thoonk/cancel", fed(2),
			func(f *thoonkdb.Feed) (any, error) { return nil, ignoring(f.Cancel(background, feedConfig, claim)) }),
		of("thoonk/stall", fed(2),
			func(f *thoonkdb.Feed) (any, error) { return nil, ignoring(f.Stall(background, feedConfig, claim)) }),
		of("thoonk/retry", func(t *testing.T, s *site) {
			fed(2)(t, s)
			require.NoError(t, ignoring(s.feeds(s.driver).Stall(background, feedConfig, claim)))
		}, func(f *thoonkdb.Feed) (any, error) { return nil, ignoring(f.Retry(background, feedConfig, "j1")) }),
		of("thoonk/withdraw", fed(2),
			func(f *thoonkdb.Feed) (any, error) { return nil, ignoring(f.Withdraw(background, feedConfig, "j1")) }),
		of("thoonk/reclaim_overdue", aged, func(f *thoonkdb.Feed) (any, error) {
			return nil, lapsing(f.ReclaimOverdue(background, feedConfig, thoonkdb.Age{Max: time.Hour, Times: 1}))
		}),
		of("thoonk/adopt", func(t *testing.T, s *site) {
			fed(2)(t, s)
			s.cmd(t, "LREM", "feed.ids:news", "0", "j4")
			s.cmd(t, "LREM", "feed.ids:news", "0", "j5")
		}, func(f *thoonkdb.Feed) (any, error) { return nil, ignoring(f.Adopt(background, feedConfig)) }),
		of("thoonk/remove_expired", func(t *testing.T, s *site) {
			fed(2)(t, s)
			s.cmd(t, "SADD", "feed.jobresults:news", "gone")
		}, func(f *thoonkdb.Feed) (any, error) { return nil, ignoring(f.RemoveExpired(background)) }),
	}
	for name, position := range map[string]string{"first": "begin:", "last": ":end", "before": ":2", "after": "2:"} {
		all = append(all, of("thoonk/insert, "+name, sorted, func(f *thoonkdb.Feed) (any, error) {
			return f.Insert(background, feedConfig, entry, position)
		}))
		moved := map[bool]string{true: "1", false: "3"}[name == "after" || name == "last"]
		all = append(all, of("thoonk/move, "+name, sorted, func(f *thoonkdb.Feed) (any, error) {
			return f.Move(background, feedConfig, moved, position)
		}))
	}
	all = append(append(all, feedingReleased()...), feedingOtherForm())
	return slices.Concat(all, feedingOnce(), recurring())
}

// feedingOnce are the first and the last script of a feed, and those that are never sent twice.
func feedingOnce() []transition {
	of := func(name string, prepare func(*testing.T, *site), send func(f *thoonkdb.Feed) error) transition {
		return transition{
			name: name, script: name, prepare: prepare, storing: slices.Contains(storingFeeds, name),
			once: name != "thoonk/create" && name != "thoonk/delete",
			send: func(s *site, store *rdb.Store) (any, error) { return nil, send(s.feeds(store.Driver())) },
		}
	}
	return []transition{
		of("thoonk/create", func(t *testing.T, s *site) {},
			func(f *thoonkdb.Feed) error {
				return ignoring(f.Create(background, thoonkdb.NewConfig{Content: feedConfig}, "me"))
			}),
		of("thoonk/delete", func(t *testing.T, s *site) {
			fed(3)(t, s)
			f := s.feeds(s.driver)
			require.NoError(t, ignoring(f.Finish(background, feedConfig, thoonkdb.Claim{ID: "j1"}, []byte("r"),
				time.Hour)))
			require.NoError(t, ignoring(f.Stall(background, feedConfig, thoonkdb.Claim{ID: "j2"})))
		}, func(f *thoonkdb.Feed) error {
			if err := f.Delete(background, "me"); err != thoonkdb.ErrNoFeed {
				return err
			}
			return nil
		}),
		of("thoonk/take", fed(4), func(f *thoonkdb.Feed) error { return ignoring(f.Take(background, feedConfig)) }),
		of("thoonk/claim", fed(4),
			func(f *thoonkdb.Feed) error { return ignoring(f.Claim(background, feedConfig, "5")) }),
		of("thoonk/reserve", fed(0),
			func(f *thoonkdb.Feed) error { return ignoring(f.Reserve(background, feedConfig)) }),
	}
}

// aged has claims of every age and form: old ones, of which one was cancelled before, a new one, one without a time,
// and one whose job is gone.
func aged(t *testing.T, s *site) {
	t.Helper()
	fed(4)(t, s)
	s.cmd(t, "HSET", "feed.claimed:news", "j2", "1500000000", "j4", "5.1", "zombie", "5.1")
	s.cmd(t, "HSET", "feed.cancelled:news", "j2", "1")
	s.cmd(t, "HDEL", "feed.claimed:news", "j1") // it comes first: nothing before it makes room
	s.cmd(t, "LPUSH", "feed.running:news", "zombie")
	s.cmd(t, "HSET", "feed.items:news", "orphan", "x") // which is nowhere else
}

func ignoring[T any](_ T, err error) error { return err }

func lapsing(_, _ []string, err error) error { return err }

// TestFeedsAreLeftAloneByWhoDoesNotKnowThem: a script changes nothing where there is no feed, or another config.
func TestFeedsAreLeftAloneByWhoDoesNotKnowThem(t *testing.T) {
	t.Parallel()
	entry, claim := thoonkdb.Entry{ID: "x", Item: []byte("i")}, thoonkdb.Claim{ID: "x"}
	for name, call := range map[string]func(f *thoonkdb.Feed) error{
		"configure": func(f *thoonkdb.Feed) error {
			return f.Configure(background, "{}", thoonkdb.NewConfig{Content: `{"other":1}`}, "me")
		},
		"publish": func(f *thoonkdb.Feed) error { return ignoring(f.Publish(background, "{}", entry, 5)) },
		"retract": func(f *thoonkdb.Feed) error { return ignoring(f.Retract(background, "{}", "j3")) },
		"reserve": func(f *thoonkdb.Feed) error { return ignoring(f.Reserve(background, "{}")) },
		"insert":  func(f *thoonkdb.Feed) error { return ignoring(f.Insert(background, "{}", entry, ":end")) },
		"move":    func(f *thoonkdb.Feed) error { return ignoring(f.Move(background, "{}", "j3", ":end")) },
		"edit": func(f *thoonkdb.Feed) error {
			return ignoring(f.Edit(background, "{}", thoonkdb.Entry{ID: "j3", Item: []byte("i")}))
		},
		"put": func(f *thoonkdb.Feed) error {
			return ignoring(f.Put(background, "{}", entry, thoonkdb.Place{Front: true}))
		},
		"take":     func(f *thoonkdb.Feed) error { return ignoring(f.Take(background, "{}")) },
		"claim":    func(f *thoonkdb.Feed) error { return ignoring(f.Claim(background, "{}", "1")) },
		"finish":   func(f *thoonkdb.Feed) error { return ignoring(f.Finish(background, "{}", claim, nil, 0)) },
		"cancel":   func(f *thoonkdb.Feed) error { return ignoring(f.Cancel(background, "{}", claim)) },
		"stall":    func(f *thoonkdb.Feed) error { return ignoring(f.Stall(background, "{}", claim)) },
		"retry":    func(f *thoonkdb.Feed) error { return ignoring(f.Retry(background, "{}", "x")) },
		"withdraw": func(f *thoonkdb.Feed) error { return ignoring(f.Withdraw(background, "{}", "j3")) },
		"adopt":    func(f *thoonkdb.Feed) error { return ignoring(f.Adopt(background, "{}")) },
		"reclaim":  func(f *thoonkdb.Feed) error { return lapsing(f.ReclaimOverdue(background, "{}", thoonkdb.Age{})) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onEach(t, func(t *testing.T, s *site) {
				none := s.dump(t)
				require.ErrorIs(t, call(s.feeds(s.driver)), thoonkdb.ErrNoFeed)
				assert.Equal(t, none, s.dump(t))
				aged(t, s)
				before := s.dump(t)
				require.ErrorIs(t, call(s.feeds(s.driver)), thoonkdb.ErrStale)
				assert.Equal(t, before, s.dump(t))
			})
		})
	}
}
