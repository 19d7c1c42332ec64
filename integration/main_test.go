package integration

import (
	"os"
	"testing"

	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) {
	if duty := os.Getenv(dutyVariable); duty != "" {
		os.Exit(serve(duty))
	}
	redistest.Main(m)
}
