package needs_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/needs"
)

func TestAQueueIsANameWithLabels(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		labels []string
		text   string
	}{
		"none": {nil, "export"},
		"one":  {[]string{"gpu"}, "export (needs gpu)"},
		"two":  {[]string{"gpu", "v2"}, "export (needs gpu, v2)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := needs.Queue("export", row.labels)
			assert.Equal(t, "export", needs.Name(queue))
			assert.Equal(t, row.labels, needs.Of(queue))
			assert.Equal(t, len(row.labels) > 0, needs.Some(queue))
			assert.Equal(t, row.text, needs.Text(queue))
		})
	}
	assert.Equal(t, "export", needs.Queue("export", nil))
	assert.Equal(t, []string{"a", "b"}, needs.Sorted([]string{"b", "a", "b"}))
}

func TestNeedsAreMetByAllLabels(t *testing.T) {
	t.Parallel()
	assert.True(t, needs.Met(nil, nil))
	assert.True(t, needs.Met(nil, []string{"a"}))
	assert.True(t, needs.Met([]string{"a", "b"}, []string{"c", "b", "a"}))
	assert.False(t, needs.Met([]string{"a", "b"}, []string{"a"}))
	assert.False(t, needs.Met([]string{"a"}, nil))
}

func TestLabelsAreChecked(t *testing.T) {
	t.Parallel()
	assert.NoError(t, needs.Check("x", []string{"a.b:c/d_e-f9", "a", "a", "a"}, 2))
	assert.NoError(t, needs.Check("x", nil, 0))
	for _, bad := range []string{"", "a,b", "a b", "\x1f", "ä"} {
		assert.ErrorContains(t, needs.Check("x", []string{bad}, 4), "x", "%q", bad)
	}
	assert.ErrorContains(t, needs.Check("x", []string{"a", "b", "c"}, 2), "3 labels: use at most 2")
}
