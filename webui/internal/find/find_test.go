package find

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

const patience = time.Minute

// kit is searches over a namespace with so many jobs, one in ten with the tag "x".
type kit struct {
	*Searches
	t   *testing.T
	ctx context.Context
}

func newKit(t *testing.T, s redistest.Server, many int) *kit {
	t.Helper()
	namespace := redistest.Namespace(t)
	inspector, err := inspect.New(s.DSN(), work.Namespace(namespace))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	enq, err := work.NewEnqueuer(s.DSN(), work.Namespace(namespace))
	require.NoError(t, err)
	defer enq.Close() //lint:ignore errcheck nothing is lost
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	entries := make([]work.Entry, many)
	for n := range entries {
		entries[n] = work.Entry{Name: "mail", Options: []work.EnqueueOption{work.ID(fmt.Sprintf("j%05d", n))}}
		if n%10 == 9 {
			entries[n].Options = append(entries[n].Options, work.Tags("x"))
		}
	}
	_, err = enq.EnqueueMany(ctx, entries)
	require.NoError(t, err)
	return &kit{Searches: New(inspector, 3), t: t, ctx: ctx}
}

// all follows a search to its end.
func (k *kit) all(q Question) (ids []string, last News, err error) {
	err = k.Follow(k.ctx, q, func(n News) error {
		assert.GreaterOrEqual(k.t, n.Through, last.Through)
		last = n
		for _, job := range n.Jobs {
			ids = append(ids, job.ID)
		}
		return nil
	})
	return ids, last, err
}

var rare = Question{Selection: inspect.Selection{State: work.StateQueued, Tag: "x"}}

func TestASearchTellsAllThatItFinds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, 4_500)
		ids, last, err := k.all(rare)
		require.NoError(t, err)
		require.Len(t, ids, 450)
		assert.Equal(t, "j00009", ids[0])
		assert.Equal(t, "j04499", ids[449])
		assert.Equal(t, []int{450, 4_500, 4_500}, []int{last.Found, last.Through, last.Total})
		assert.True(t, last.Over)
		assert.Empty(t, last.Cursor)
		assert.Positive(t, last.Rate)

		q := Question{Selection: inspect.Selection{State: work.StateQueued, Name: "mail"}}
		ids, last, err = k.all(q)
		require.NoError(t, err)
		assert.Len(t, ids, Most)
		assert.True(t, last.Over, "it has found enough")
		q.Cursor = last.Cursor
		ids, _, err = k.all(q)
		require.NoError(t, err)
		assert.Equal(t, "j00500", ids[0], "it goes on behind what was found")
	})
}

// TestThoseWhoAskTheSameShareOneSearch: the second one gets what was found before they came, and the search goes on
// until the last one has left.
func TestThoseWhoAskTheSameShareOneSearch(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t), 4_500)
	k.turn <- struct{}{} // somebody asks, so nothing goes on
	one, err := k.join(rare)
	require.NoError(t, err)
	two, err := k.join(rare)
	require.NoError(t, err)
	assert.Same(t, one, two)
	other, err := k.join(Question{Selection: inspect.Selection{Tag: "y"}})
	require.NoError(t, err)
	assert.NotSame(t, one, other)
	assert.Equal(t, 3, k.Watched())
	_, err = k.join(rare)
	assert.ErrorIs(t, err, ErrTooMany)
	k.leave(other)

	k.Changed()
	anew, err := k.join(rare)
	require.NoError(t, err)
	assert.NotSame(t, one, anew, "something was done: it may be elsewhere")
	k.leave(anew)
	k.leave(two)
	select {
	case <-one.stopped:
		assert.Fail(t, "somebody still looks")
	default:
	}
	k.leave(one)
	<-one.stopped
	assert.Zero(t, k.Watched())
	assert.Empty(t, k.known)
	<-k.turn
}

// TestSearchesAskInTurn: all together never ask Redis for more than one thing at a time.
func TestSearchesAskInTurn(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t), 100)
	k.turn <- struct{}{}
	one, err := k.join(rare)
	require.NoError(t, err)
	defer k.leave(one)
	_, changed, err := one.since(0)
	require.NoError(t, err)
	select {
	case <-changed:
		require.Fail(t, "it has asked although it was not its turn")
	default:
	}
	<-k.turn
	require.NoError(t, wait(k.ctx, changed))
	news, _, err := one.since(0)
	require.NoError(t, err)
	assert.Len(t, news.Jobs, 10)
}

func TestASearchEndsWithAnError(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s, 10)
		_, _, err := k.all(Question{Cursor: "none"})
		var invalid *work.InvalidError
		assert.ErrorAs(t, err, &invalid)
		enough := errors.New("enough")
		assert.ErrorIs(t, k.Follow(k.ctx, rare, func(News) error { return enough }), enough)
		ctx, cancel := context.WithCancel(k.ctx)
		cancel()
		k.turn <- struct{}{}
		assert.ErrorIs(t, k.Follow(ctx, rare, func(News) error { return nil }), context.Canceled)
		<-k.turn
		assert.Zero(t, k.Watched())
	})
}

func TestASearchThatPanicsIsAnError(t *testing.T) {
	t.Parallel()
	searches := New(nil, 1)
	err := searches.Follow(t.Context(), rare, func(News) error { return nil })
	assert.ErrorContains(t, err, "the search panicked: ")
}
