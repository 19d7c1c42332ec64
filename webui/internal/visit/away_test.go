package visit_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/webui/internal/visit"
)

// TestWhatIsAwayHasItsTimeUntilItIsBack: and the log is told of both once.
func TestWhatIsAwayHasItsTimeUntilItIsBack(t *testing.T) {
	t.Parallel()
	nobody, err := inspect.New("redis://127.0.0.1:1/0")
	require.NoError(t, err)
	defer nobody.Close() //lint:ignore errcheck it has no connection
	_, err = nobody.Counts(t.Context())
	var log bytes.Buffer
	s := &visit.Site{Place: "billing", Logger: slog.New(slog.NewTextHandler(&log, nil))}
	s.Reached()
	first := s.Away(err)
	require.NotNil(t, first)
	assert.Equal(t, "127.0.0.1:1", first.Addr)
	assert.Equal(t, first.Since, s.Away(err).Since)
	assert.Equal(t, 1, strings.Count(log.String(), "place=billing"), log.String())
	assert.Nil(t, s.Away(&inspect.PartialError{Missing: []inspect.MissingPartition{{Err: err}}}), "others answer")
	assert.Nil(t, s.Away(context.Canceled))
	s.Reached()
	s.Reached()
	assert.Equal(t, 2, strings.Count(log.String(), "place=billing"), log.String())
	assert.True(t, s.Away(err).Since.After(first.Since))
}
