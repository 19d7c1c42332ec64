package doctest_test

import (
	"os"
	"testing"

	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/redistest"
)

// TestMain goes to the root of the module: pages name files as seen from there.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	redistest.Main(m)
}

type kit struct{ *enginetest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{enginetest.NewKit(t, s)} }
