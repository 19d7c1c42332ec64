package growth_test

import (
	"testing"

	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/redistest"
)

type kit struct{ *enginetest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{enginetest.NewKit(t, s)} }

func TestMain(m *testing.M) { redistest.Main(m) }
