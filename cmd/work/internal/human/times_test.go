package human_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/human"
)

func TestBrief(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Hour, "0s"}, {0, "0s"}, {350_400 * time.Microsecond, "350ms"},
		{12*time.Second + 900*time.Millisecond, "12s"}, {time.Minute, "1m"},
		{59*time.Minute + 59*time.Second, "59m59s"}, {90 * time.Minute, "1h30m"}, {2 * time.Hour, "2h"},
		{2*time.Hour + 30*time.Second, "2h"},
		{76 * time.Hour, "3d4h"}, {400 * 24 * time.Hour, "400d"},
	} {
		assert.Equal(t, row.want, human.Duration(row.d), row.d)
	}
}
