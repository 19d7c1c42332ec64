package visit_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/webui/internal/visit"
)

// TestNobodyTakesAllStreams: whoever has most gives one to somebody who has fewer, and nobody is refused while another
// has two more.
func TestNobodyTakesAllStreams(t *testing.T) {
	t.Parallel()
	var s visit.Streams
	site := &visit.Site{MaxStreams: 4}
	enter := func(actor, from string) (*visit.Visit, func(), error) {
		v := &visit.Visit{Site: site, W: httptest.NewRecorder(), Actor: actor,
			R: httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/live", nil)}
		v.R.RemoteAddr = from
		leave, err := s.Enter(v, "full")
		return v, leave, err
	}
	var anns []*visit.Visit
	var leaves []func()
	for range 4 {
		v, leave, err := enter("ann", "10.0.0.1:1")
		require.NoError(t, err)
		anns, leaves = append(anns, v), append(leaves, leave)
	}
	v, _, err := enter("ann", "10.0.0.1:2")
	require.EqualError(t, err, "full")
	assert.Equal(t, http.StatusServiceUnavailable, visit.StatusOf(err))
	assert.Equal(t, "60", v.W.Header().Get("Retry-After"))
	bob, leaveBob, err := enter("bob", "10.0.0.1:1")
	require.NoError(t, err)
	require.ErrorIs(t, context.Cause(anns[3].Ctx()), visit.ErrDisplaced, "the newest one")
	_, _, err = enter("token", "10.0.0.1:1")
	require.NoError(t, err)
	require.ErrorIs(t, context.Cause(anns[2].Ctx()), visit.ErrDisplaced)
	_, _, err = enter("bob", "10.0.0.1:1")
	require.EqualError(t, err, "full", "it would be ann who has fewer then")
	_, _, err = enter("token", "10.0.0.2:1")
	require.NoError(t, err, "a token that several have: their addresses tell them apart")
	_, _, err = enter("eve", "10.0.0.1:1")
	require.EqualError(t, err, "full", "everybody has one")
	assert.NoError(t, bob.Ctx().Err())
	leaves[3]() // it had lost its place
	assert.Equal(t, 4, s.Open())
	leaveBob()
	assert.Equal(t, 3, s.Open())
	require.Error(t, bob.Ctx().Err())
	_, _, err = enter("eve", "10.0.0.1:1")
	require.NoError(t, err)
	site.MaxStreams = -1
	_, err = new(visit.Streams).Enter(v, "none")
	require.EqualError(t, err, "none")
}
