package rdb_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/rdb/thoonkdb"
)

// releasedConfigs are those of job feeds in the forms of released programs.
var releasedConfigs = map[string]thoonkdb.NewConfig{
	"sorted": {Content: feedConfig, Released: true},
	"hash":   {Content: thoonkdb.Framed(map[string]string{"type": "job"}), Released: true},
}

// feedingReleased are the branches of the scripts of thoonkdb that such feeds take.
func feedingReleased() []transition {
	var all []transition
	for form, config := range releasedConfigs {
		all = append(all, feedingForm(form, config)...)
	}
	return all
}

func feedingForm(form string, config thoonkdb.NewConfig) []transition {
	of := func(script string, prepare func(*testing.T, *site), send func(*thoonkdb.Feed) error) transition {
		return transition{
			name: script + ", " + form, script: script, prepare: prepare,
			storing: slices.Contains(storingFeeds, script), once: script == "thoonk/claim",
			send: func(s *site, store *rdb.Store) (any, error) { return nil, send(s.feeds(store.Driver())) },
		}
	}
	known, claim := config.Content, thoonkdb.Claim{ID: "j1"}
	entry := thoonkdb.Entry{ID: "9", Item: []byte("new")}
	job, leaf := fedReleased(config, false), fedReleased(config, true)
	return []transition{
		of("thoonk/put", job, func(f *thoonkdb.Feed) error {
			return ignoring(f.Put(background, known, entry, thoonkdb.Place{Job: true}))
		}),
		of("thoonk/claim", job, func(f *thoonkdb.Feed) error { return ignoring(f.Claim(background, known, "5")) }),
		of("thoonk/finish", job, func(f *thoonkdb.Feed) error {
			return ignoring(f.Finish(background, known, claim, []byte("r"), time.Hour))
		}),
		of("thoonk/cancel", job, func(f *thoonkdb.Feed) error { return ignoring(f.Cancel(background, known, claim)) }),
		of("thoonk/stall", job, func(f *thoonkdb.Feed) error { return ignoring(f.Stall(background, known, claim)) }),
		of("thoonk/retry", job, func(f *thoonkdb.Feed) error { return ignoring(f.Retry(background, known, "j2")) }),
		of("thoonk/withdraw", job,
			func(f *thoonkdb.Feed) error { return ignoring(f.Withdraw(background, known, "j1")) }),
		of("thoonk/reclaim_overdue", func(t *testing.T, s *site) {
			job(t, s)
			s.cmd(t, "ZADD", "feed.claimed:news", "5", "j1", "1500000000000", "j3", "5", "zombie")
			s.cmd(t, "HSET", "feed.cancelled:news", "j3", "1")
		}, func(f *thoonkdb.Feed) error {
			return lapsing(f.ReclaimOverdue(background, known, thoonkdb.Age{Max: time.Hour, Times: 1}))
		}),
		of("thoonk/publish", leaf,
			func(f *thoonkdb.Feed) error { return ignoring(f.Publish(background, known, entry, 2)) }),
		of("thoonk/retract", leaf,
			func(f *thoonkdb.Feed) error { return ignoring(f.Retract(background, known, "j1")) }),
		of("thoonk/edit", leaf, func(f *thoonkdb.Feed) error {
			return ignoring(f.Edit(background, known, thoonkdb.Entry{ID: "j1", Item: []byte("new")}))
		}),
		of("thoonk/insert", fedReleased(config, false),
			func(f *thoonkdb.Feed) error { return ignoring(f.Insert(background, known, entry, ":end")) }),
		of("thoonk/configure", job, func(f *thoonkdb.Feed) error {
			other := thoonkdb.NewConfig{Content: `{"type":"job","more":1}`}
			if form == "hash" {
				other.Content = thoonkdb.Framed(map[string]string{"more": "1"})
			}
			return f.Configure(background, known, other, "me")
		}),
	}
}

// fedReleased has a leaf with the items j1 to j3; or a feed of these jobs and j4, of which j1 and j3 are claimed and j2
// is stalled.
func fedReleased(config thoonkdb.NewConfig, leaf bool) func(t *testing.T, s *site) {
	return func(t *testing.T, s *site) {
		t.Helper()
		f, known := s.feeds(s.driver), config.Content
		require.NoError(t, ignoring(f.Create(background, config, "me")))
		for _, id := range []string{"j1", "j2", "j3"} {
			entry := thoonkdb.Entry{ID: id, Item: []byte("item " + id)}
			if leaf {
				require.NoError(t, ignoring(f.Publish(background, known, entry, 0)))
				continue
			}
			require.NoError(t, ignoring(f.Put(background, known, entry, thoonkdb.Place{Job: true})))
			require.NoError(t, ignoring(f.Claim(background, known, "1")))
		}
		if !leaf {
			require.NoError(t, ignoring(f.Stall(background, known, thoonkdb.Claim{ID: "j2"})))
			require.NoError(t, ignoring(f.Put(background, known, thoonkdb.Entry{ID: "j4", Item: []byte("i")},
				thoonkdb.Place{Job: true})))
		}
	}
}

// feedingOtherForm gives a leaf of the contract's form that of the released programs.
func feedingOtherForm() transition {
	return transition{
		name: "thoonk/configure, leaf", script: "thoonk/configure", storing: true,
		prepare: func(t *testing.T, s *site) {
			t.Helper()
			f := s.feeds(s.driver)
			require.NoError(t, ignoring(f.Create(background, thoonkdb.NewConfig{Content: feedConfig}, "me")))
			for _, id := range []string{"a", "b"} {
				entry := thoonkdb.Entry{ID: id, Item: []byte("i")}
				require.NoError(t, ignoring(f.Publish(background, feedConfig, entry, 0)))
			}
		},
		send: func(s *site, store *rdb.Store) (any, error) {
			config := thoonkdb.NewConfig{Content: feedConfig, Released: true, Leaf: true}
			return nil, s.feeds(store.Driver()).Configure(background, feedConfig, config, "me")
		},
	}
}
