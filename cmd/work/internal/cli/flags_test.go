package cli_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/cli"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		want time.Duration
		ok   bool
	}{
		{"90s", 90 * time.Second, true}, {"1h30m", 90 * time.Minute, true}, {"7d", 7 * 24 * time.Hour, true},
		{"1d12h", 36 * time.Hour, true},
		{"0s", 0, true}, {"0d", 0, true}, {"36500d", 36_500 * 24 * time.Hour, true},
		{"36501d", 0, false}, {"-1d", 0, false}, {"-1s", 0, false}, {"d", 0, false}, {"7", 0, false}, {"", 0, false},
		{"1d-1h", 0, false}, {"99999999999999999999d", 0, false},
	} {
		t.Run(row.text, func(t *testing.T) {
			t.Parallel()
			var s cli.Span
			err := s.Set(row.text)
			assert.Equal(t, row.ok, err == nil, err)
			assert.Equal(t, row.want, s.Duration())
		})
	}
}
