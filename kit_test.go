package work_test

import (
	"testing"

	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/redistest"
)

// kit is what tests outside of the package share.
type kit struct{ *enginetest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{enginetest.NewKit(t, s)} }
