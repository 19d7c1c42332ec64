package thoonk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

func TestCreateFailsIfThere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.create("a", thoonk.Config{Kind: thoonk.KindQueue})
		err := k.client.Create(k.ctx(), "a", thoonk.Config{})
		require.ErrorIs(t, err, thoonk.ErrExists)
		assert.ErrorContains(t, err, `feed "a"`)
		config, err := k.client.Config(k.ctx(), "a")
		require.NoError(t, err)
		assert.Equal(t, thoonk.KindQueue, config.Kind, "the second create has changed nothing")
		assert.Equal(t, []string{"feed.config:a", "feeds"}, k.keys())
	})
}

func TestDeleteRemovesAllKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.create("keep", thoonk.Config{})
		before := k.keys()
		k.fill("a")
		require.NotEqual(t, before, k.keys())
		require.NoError(t, k.client.Delete(k.ctx(), "a"))
		assert.Equal(t, before, k.keys())
	})
}

// fill makes a job feed with jobs in every state, and the keys of every other kind.
func (k *kit) fill(name string) {
	k.t.Helper()
	feed := k.jobs(name)
	for i := range 6 {
		_, err := feed.Put(k.ctx(), fmt.Sprint("job ", i))
		require.NoError(k.t, err)
	}
	require.NoError(k.t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "result", 0))
	require.NoError(k.t, feed.FinishWith(k.ctx(), k.claim(feed).Held, "result", 0))
	require.NoError(k.t, feed.Stall(k.ctx(), k.claim(feed).Held))
	require.NoError(k.t, feed.Cancel(k.ctx(), k.claim(feed).Held))
	k.claim(feed)
	k.cmd("SET", "feed.idincr:"+name, 7)
	k.cmd("SET", "feed.publishes:"+name, 7)
	k.cmd("ZADD", "feed.published:"+name, 7, "x")
}

// A feed with more results than one script may name is deleted in steps.
func TestDeleteOfManyResults(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.create("a", thoonk.Config{Kind: thoonk.KindJob})
		for i := range rdb.MaxBatch + 7 {
			id := fmt.Sprint("id", i)
			k.cmd("SADD", "feed.jobresults:a", id)
			k.cmd("RPUSH", "feed.jobfinished:a:"+id, "item\x00result")
		}
		require.NoError(t, k.client.Delete(k.ctx(), "a"))
		assert.Empty(t, k.keys())
	})
}

func TestDeleteFailsIfMissing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		require.ErrorIs(t, k.client.Delete(k.ctx(), "a"), thoonk.ErrNoFeed)
		assert.Empty(t, k.keys())
	})
}

func TestConfigGetAndSet(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.create("a", thoonk.Config{MaxLength: 5})
		config, err := k.client.Config(k.ctx(), "a")
		require.NoError(t, err)
		assert.Equal(t, thoonk.Config{Kind: thoonk.KindLeaf, MaxLength: 5}, config)

		config.MaxLength, config.Other = 3, map[string]json.RawMessage{"colour": json.RawMessage(`"blue"`)}
		require.NoError(t, k.client.SetConfig(k.ctx(), "a", config))
		again, err := k.client.Config(k.ctx(), "a")
		require.NoError(t, err)
		assert.Equal(t, config, again)
		assert.JSONEq(t, `{"type":"feed","max_length":3,"colour":"blue"}`,
			string(k.cmd("GET", "feed.config:a").([]byte)))

		_, err = k.client.Config(k.ctx(), "none")
		require.ErrorIs(t, err, thoonk.ErrNoFeed)
		require.ErrorIs(t, k.client.SetConfig(k.ctx(), "none", config), thoonk.ErrNoFeed)
		var kind *thoonk.KindError
		require.ErrorAs(t, k.client.SetConfig(k.ctx(), "a", thoonk.Config{Kind: thoonk.KindJob}), &kind)
		assert.Equal(t, thoonk.KindError{Want: thoonk.KindJob, Have: thoonk.KindLeaf}, *kind)
	})
}

func TestConfigOfOtherPrograms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stored string
		want   thoonk.Config
		fails  string
	}{
		"none":              {"", thoonk.Config{Kind: thoonk.KindLeaf}, ""},
		"another word":      {`{"type":"leaf"}`, thoonk.Config{Kind: thoonk.KindLeaf}, ""},
		"null as a limit":   {`{"type":"queue","max_length":null}`, thoonk.Config{Kind: thoonk.KindQueue}, ""},
		"a kind of its own": {`{"type":"deck"}`, thoonk.Config{Kind: "deck"}, ""},
		"no JSON":           {`max`, thoonk.Config{}, "not a JSON object"},
		"a number as type":  {`{"type":5}`, thoonk.Config{}, "type is not a text"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				k.cmd("SADD", "feeds", "a")
				if c.stored != "" {
					k.cmd("SET", "feed.config:a", c.stored)
				}
				config, err := k.client.Config(k.ctx(), "a")
				if c.fails != "" {
					require.ErrorContains(t, err, c.fails)
					return
				}
				require.NoError(t, err)
				assert.Equal(t, c.want, config)
				if c.want.Kind == "deck" {
					_, err = k.client.Open(k.ctx(), "a")
					var kind *thoonk.KindError
					require.ErrorAs(t, err, &kind)
				}
			})
		})
	}
}

func TestConfigsThatAreRefused(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]thoonk.Config{
		`kind "tree" is unknown`:                    {Kind: "tree"},
		"max_length -1 is negative":                 {MaxLength: -1},
		"max_length 5 of a queue has no meaning":    {Kind: thoonk.KindQueue, MaxLength: 5},
		"max_length 5 of a sorted_feed has no mean": {Kind: thoonk.KindSorted, MaxLength: 5},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				require.ErrorContains(t, k.client.Create(k.ctx(), "a", config), want)
				assert.Empty(t, k.keys())
				k.create("a", thoonk.Config{})
				require.ErrorContains(t, k.client.SetConfig(k.ctx(), "a", config), want)
			})
		})
	}
}

func TestExistsAndNames(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		names, err := k.client.Names(k.ctx())
		require.NoError(t, err)
		assert.Empty(t, names)
		for _, name := range []string{"b", "a:b_c", "a"} {
			k.create(name, thoonk.Config{})
		}
		names, err = k.client.Names(k.ctx())
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "a:b_c", "b"}, names)
		for name, want := range map[string]bool{"a": true, "a:b_c": true, "a:b": false} {
			exists, err := k.client.Exists(k.ctx(), name)
			require.NoError(t, err)
			assert.Equal(t, want, exists, name)
		}
	})
}

func TestOpenByStoredType(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		for kind, want := range map[thoonk.Kind]thoonk.Feed{
			thoonk.KindLeaf:   &thoonk.Leaf[[]byte]{},
			thoonk.KindSorted: &thoonk.SortedFeed[[]byte]{},
			thoonk.KindQueue:  &thoonk.Queue[[]byte]{},
			thoonk.KindJob:    &thoonk.JobFeed[[]byte, []byte]{},
		} {
			name := "the " + string(kind)
			k.create(name, thoonk.Config{Kind: kind})
			feed, err := k.client.Open(k.ctx(), name)
			require.NoError(t, err)
			assert.IsType(t, want, feed)
			assert.Equal(t, kind, feed.Kind())
			assert.Equal(t, name, feed.Name())
			length, err := feed.Length(k.ctx())
			require.NoError(t, err)
			assert.Zero(t, length)
		}
		_, err := k.client.Open(k.ctx(), "none")
		require.ErrorIs(t, err, thoonk.ErrNoFeed)
	})
}

func TestAFeedOfAnotherKindIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.create("a", thoonk.Config{Kind: thoonk.KindQueue})
		var kind *thoonk.KindError
		_, err := thoonk.OpenLeaf[string](k.ctx(), k.client, "a", nil)
		require.ErrorAs(t, err, &kind)
		_, err = thoonk.OpenSortedFeed[string](k.ctx(), k.client, "a", nil)
		require.ErrorAs(t, err, &kind)
		_, err = thoonk.OpenJobFeed[string, string](k.ctx(), k.client, "a", nil, nil)
		require.ErrorAs(t, err, &kind)
		k.create("b", thoonk.Config{})
		_, err = thoonk.OpenQueue[string](k.ctx(), k.client, "b", nil)
		require.ErrorAs(t, err, &kind)
	})
}

// A feed that was deleted, and created again as another kind, is noticed by those who have it open.
func TestAnOpenFeedThatBecomesAnother(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		require.NoError(t, k.client.Delete(k.ctx(), "a"))
		_, _, err := leaf.Publish(k.ctx(), "x")
		require.ErrorIs(t, err, thoonk.ErrNoFeed)
		_, err = leaf.IDs(k.ctx())
		require.ErrorIs(t, err, thoonk.ErrNoFeed)
		assert.Empty(t, k.keys())
		k.create("a", thoonk.Config{Kind: thoonk.KindJob})
		_, _, err = leaf.Publish(k.ctx(), "x")
		var kind *thoonk.KindError
		require.ErrorAs(t, err, &kind)
		assert.Equal(t, []string{"feed.config:a", "feeds"}, k.keys())
	})
}

func TestEventsSayWhoDidIt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		other := k.open(k.server.DSN(), thoonk.Instance("other"))
		events := k.listen(k.client, thoonk.Watch{Registry: true})
		require.NoError(t, other.Create(k.ctx(), "a", thoonk.Config{}))
		require.NoError(t, k.client.SetConfig(k.ctx(), "a", thoonk.Config{MaxLength: 2}))
		require.NoError(t, other.Delete(k.ctx(), "a"))
		assert.Equal(t, thoonk.Event{What: thoonk.Created, Feed: "a", Instance: "other"}, k.next(events))
		assert.Equal(t, thoonk.Event{What: thoonk.Configured, Feed: "a", Instance: k.client.Instance(), Own: true},
			k.next(events))
		assert.Equal(t, thoonk.Event{What: thoonk.Deleted, Feed: "a", Instance: "other"}, k.next(events))
	})
}

func TestNamesThatAreRefused(t *testing.T) {
	t.Parallel()
	for what, name := range map[string]string{
		"empty": "", "a NUL": "a\x00b", "too long": strings.Repeat("x", thoonk.MaxName+1),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, k *kit) {
				var refused *thoonk.NameError
				require.ErrorAs(t, k.client.Create(k.ctx(), name, thoonk.Config{}), &refused)
				assert.Equal(t, "feed", refused.What)
				require.ErrorAs(t, k.client.Delete(k.ctx(), name), &refused)
				_, err := k.client.Exists(k.ctx(), name)
				require.ErrorAs(t, err, &refused)
				_, err = k.client.Open(k.ctx(), name)
				require.ErrorAs(t, err, &refused)
				_, err = k.client.Subscribe(k.ctx(), thoonk.Watch{Feeds: []string{name}})
				require.ErrorAs(t, err, &refused)
				assert.Empty(t, k.keys())

				leaf, queue, feed := k.leaf("leaf", 0), k.queue("queue"), k.jobs("jobs")
				before := k.keys()
				_, _, err = leaf.Publish(k.ctx(), "x", thoonk.WithID(name))
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, "id", refused.What)
				_, err = queue.Put(k.ctx(), "x", thoonk.WithID(name))
				require.ErrorAs(t, err, &refused)
				_, err = feed.Put(k.ctx(), "x", thoonk.WithID(name))
				require.ErrorAs(t, err, &refused)
				_, err = feed.Result(k.ctx(), name, thoonk.NoWait)
				require.ErrorAs(t, err, &refused)
				assert.Equal(t, before, k.keys())
			})
		})
	}
}

// "a:b" and "c", "a" and "b:c" would have their results under the same key.
func TestAJobsIDHasNoColon(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		feed := k.jobs("a")
		before := k.keys()
		_, err := feed.Put(k.ctx(), "x", thoonk.WithID("b:c"))
		var refused *thoonk.NameError
		require.ErrorAs(t, err, &refused)
		assert.Equal(t, before, k.keys())
		id, err := k.queue("a:b").Put(k.ctx(), "x", thoonk.WithID("b:c_d"))
		require.NoError(t, err)
		assert.Equal(t, "b:c_d", id)
	})
}

func TestOptionsOfAClient(t *testing.T) {
	t.Parallel()
	for _, instance := range []string{"", "a\x00b"} {
		_, err := thoonk.Open("redis://localhost", thoonk.Instance(instance))
		var refused *thoonk.NameError
		require.ErrorAs(t, err, &refused)
	}
	_, err := thoonk.Open("nowhere")
	require.ErrorContains(t, err, "has no scheme")
	one, err := thoonk.Open("redis://localhost")
	require.NoError(t, err)
	two, err := thoonk.Open("redis://localhost")
	require.NoError(t, err)
	assert.NotEqual(t, one.Instance(), two.Instance())
	require.NoError(t, errors.Join(one.Close(), two.Close(), two.Close()))
}

// Two programs with other prefixes on the same Redis do not see each other; without one the keys are those of the
// layout.
func TestPrefix(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		k.create("a", thoonk.Config{})
		other, err := thoonk.Open(k.server.DSN(), thoonk.Prefix(k.prefix+"more:"))
		require.NoError(t, err)
		defer func() { assert.NoError(t, other.Close()) }()
		names, err := other.Names(k.ctx())
		require.NoError(t, err)
		assert.Empty(t, names)
	})
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		k := newKit(t, redistest.Embedded(t))
		c, err := thoonk.Open(k.server.DSN())
		require.NoError(t, err)
		defer func() { assert.NoError(t, c.Close()) }()
		require.NoError(t, c.Create(k.ctx(), "a", thoonk.Config{}))
		k.prefix = ""
		assert.Equal(t, []string{"feed.config:a", "feeds"}, k.keys())
	})
}

// A key of another type is named, and nothing else is changed.
func TestAKeyOfAWrongType(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf, feed := k.leaf("leaf", 0), k.jobs("jobs")
		k.cmd("SET", "feed.ids:leaf", "text")
		k.cmd("SET", "feed.claimed:jobs", "text")
		_, err := feed.Put(k.ctx(), "x")
		require.NoError(t, err)
		before := k.keys()
		_, _, err = leaf.Publish(k.ctx(), "x")
		require.ErrorContains(t, err,
			`key "`+k.prefix+`feed.ids:leaf" is a string, where a feed has a list or zset: rename`)
		_, err = feed.Get(k.ctx(), time.Minute)
		var wrong *thoonk.FormError
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, thoonk.FormError{Key: k.prefix + "feed.claimed:jobs", Found: "string", Want: "hash or zset"},
			*wrong)
		_, err = leaf.IDs(k.ctx())
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, k.prefix+"feed.ids:leaf", wrong.Key)
		_, err = feed.Running(k.ctx())
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, k.prefix+"feed.claimed:jobs", wrong.Key)
		assert.Equal(t, before, k.keys())
	})
}
