package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/exit"
)

// A group of errors may be named by the beginning of its digest; one that is not there is no success.
func TestGroupsOfErrorsAreKnownByTheirBeginning(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	group := s.Group("mail")
	whole := s.call("errors", "retry", group, "--dry-run")
	assert.Equal(t, said{out: "1 job would be retried, looked at 1 of 1\n"}, whole)
	assert.Equal(t, whole, s.call("errors", "retry", group[:12], "--dry-run"))
	assert.Equal(t, s.call("jobs", "search", "--error-group", group),
		s.call("jobs", "search", "--error-group", group[:12]))
	for _, args := range [][]string{{"errors", "retry", "nothing"}, {"jobs", "search", "--error-group", "nothing"}} {
		want := said{status: exit.NotFound,
			err: "work: no group of errors begins with nothing: `work errors` lists them\n"}
		assert.Equal(t, want, s.call(args...))
	}
}
