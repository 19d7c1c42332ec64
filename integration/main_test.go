package integration

import (
	"flag"
	"os"
	"testing"

	"github.com/265d0351/work/integration/container"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) {
	if duty := os.Getenv(dutyVariable); duty != "" {
		os.Exit(serve(duty))
	}
	// These tests wait more than they compute. A -parallel on the command line is read later, and wins.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err) // there is such a flag
	}
	container.Use()
	redistest.Main(m)
}

// long tells whether the faults last as long, and are as many, as the figures say; otherwise a minute does for all.
func long() bool { return os.Getenv("WORK_FAULT_LONG") == "1" }

// pick is one of two sizes.
func pick[T any](short, extended T) T {
	if long() {
		return extended
	}
	return short
}
