package worqr_test

import (
	"os"
	"testing"

	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) {
	if duty := os.Getenv(dutyVariable); duty != "" {
		os.Exit(serveDuty(duty))
	}
	redistest.Main(m)
}
