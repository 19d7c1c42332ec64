package lifecycle

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatRunsApartMayEndItsGoroutine(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		function func()
		failure  string
	}{
		"returns":             {func() {}, ""},
		"panics":              {func() { panic("no idea") }, "panicked: no idea"},
		"ends its goroutine":  {runtime.Goexit, "ended its goroutine"},
		"both, one by one":    {func() { defer panic("late"); runtime.Goexit() }, "panicked: late"},
		"panics and then not": {func() { defer runtime.Goexit(); panic("lost") }, "ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := false
			failure := Apart(func() { ran = true; row.function() })
			assert.Equal(t, row.failure, failure)
			assert.True(t, ran)
		})
	}
}
