package work

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/redistest"
)

// What tests inside of the package share.

// errLuck is an error that means nothing.
var errLuck = errors.New("no luck")

func hourly(*Job, error) time.Duration { return time.Hour }

func silent() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// receive waits for a value.
func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(time.Minute):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

func TestMain(m *testing.M) { redistest.Main(m) }
