package human_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/human"
)

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		assert.Equal(t, want, human.Grouped(n))
	}
}
