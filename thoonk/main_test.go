package thoonk_test

import (
	"os"
	"testing"

	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) {
	if task := os.Getenv(workerVariable); task != "" {
		os.Exit(serve(task))
	}
	redistest.Main(m)
}
