package thoonk_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/thoonk"
)

func TestSeveralSubscribersHearTheSame(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		other := k.leaf("other", 0)
		watch := thoonk.Watch{Feeds: []string{"a"}}
		listeners := []<-chan thoonk.Event{k.listen(k.client, watch), k.listen(k.client, watch),
			k.listen(k.open(k.server.DSN()), watch)}
		k.publish(other, "not for them")
		k.publish(leaf, "1", "2")
		for _, events := range listeners {
			assert.Equal(t, thoonk.Event{What: thoonk.Published, Feed: "a", ID: "id-1", Item: []byte(`"1"`)},
				k.next(events))
			assert.Equal(t, "id-2", k.next(events).ID)
			assert.Empty(t, events)
		}
	})
}

func TestSubscriptionByPattern(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		events := k.listen(k.client, thoonk.Watch{Patterns: []string{"user.*"}, Registry: true})
		k.publish(k.leaf("other", 0), "not for them")
		later := k.leaf("user.7:x_y", 0) // created after the subscription
		k.publish(later, "1")
		assert.Equal(t, "other", k.next(events).Feed)
		assert.Equal(t, thoonk.Created, k.next(events).What)
		assert.Equal(t, thoonk.Event{What: thoonk.Published, Feed: "user.7:x_y", ID: "id-1", Item: []byte(`"1"`)},
			k.next(events))
	})
}

// A name is no pattern, whatever characters it has.
func TestSubscriptionByANameWithGlobs(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		name := `a*[b]?\`
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{name}})
		k.publish(k.leaf("ab", 0), "no")
		k.publish(k.leaf(`axxb?\`, 0), "no")
		k.publish(k.leaf(name, 0), "yes")
		assert.Equal(t, name, k.next(events).Feed)
		assert.Empty(t, events)
	})
}

// A lost connection is made again, and both are said: what happened in between was missed.
func TestSubscriptionIsMadeAgainAfterALostConnection(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		proxy := redistest.NewProxy(t, k.server.Addr())
		events := k.listen(k.open(proxy.DSN()), thoonk.Watch{Feeds: []string{"a"}})
		for _, value := range []string{"1", "2"} {
			proxy.Cut()
			lost := k.next(events)
			assert.Equal(t, thoonk.Disconnected, lost.What)
			require.ErrorContains(t, lost.Err, "lost")
			assert.Equal(t, thoonk.Event{What: thoonk.Connected}, k.next(events))
			k.publish(leaf, value)
			assert.Equal(t, "id-"+value, k.next(events).ID)
		}
	})
}

// A Redis that cannot be reached is said once, and tried until it can.
func TestSubscriptionBeforeRedisIsThere(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		server := redistest.Dedicated(t)
		client, err := thoonk.Open(server.DSN())
		require.NoError(t, err)
		defer func() { assert.NoError(t, client.Close()) }()
		server.Kill()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		events, err := client.Subscribe(ctx, thoonk.Watch{Registry: true})
		require.NoError(t, err)
		var said []thoonk.What
		for event := range events {
			said = append(said, event.What)
			if event.What == thoonk.Disconnected {
				require.NoError(t, server.Restart())
			}
			if event.What == thoonk.Connected {
				break
			}
		}
		assert.Equal(t, []thoonk.What{thoonk.Disconnected, thoonk.Connected}, said)
	})
}

func TestSubscriptionIsLeft(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		leaf := k.leaf("a", 0)
		ctx, cancel := context.WithCancel(k.ctx())
		defer cancel()
		events, err := k.client.Subscribe(ctx, thoonk.Watch{Feeds: []string{"a"}})
		require.NoError(t, err)
		for range 2 { // each loop subscribes anew
			seen := 0
			for event := range events {
				if event.What == thoonk.Connected {
					k.publish(leaf, "1", "2", "3") // all are on their way
					continue
				}
				seen++
				break
			}
			assert.Equal(t, 1, seen)
		}
		for event := range events {
			if event.What == thoonk.Connected {
				cancel()
			}
		}
		require.Error(t, ctx.Err())
	})
}

func TestSubscriptionToNothingIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		_, err := k.client.Subscribe(k.ctx(), thoonk.Watch{})
		require.ErrorContains(t, err, "nothing to subscribe to")
	})
}

// Whatever else is published on these channels is no event, or one that says as much as it can.
func TestMessagesOfOtherPrograms(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, k *kit) {
		events := k.listen(k.client, thoonk.Watch{Feeds: []string{"a"}, Registry: true})
		k.cmd("PUBLISH", "newfeed", "without an instance")
		k.cmd("PUBLISH", "feed.publish:a", "an id alone")
		k.cmd("PUBLISH", "job.finish:a", "x\x00")
		assert.Equal(t, thoonk.Event{What: thoonk.Published, Feed: "a", ID: "an id alone"}, k.next(events))
		assert.Equal(t, thoonk.Event{What: thoonk.Finished, Feed: "a", ID: "x"}, k.next(events))
	})
}
