package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/cmd/work/internal/exit"
)

func TestWorkersAreWaitedForByTheirNumber(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	s.Importing()
	id := s.Worker()
	assert.Equal(t, said{exit.OK, "1 worker there\n", ""}, s.call("workers", "wait", "1"))
	assert.Equal(t, said{exit.OK, `{"wanted":1,"there":1,"workers":["` + id + "\"]}\n", ""},
		s.call("workers", "wait", "1", "--name", "import", "--within", "1m", "--json"))
	late := s.call("workers", "wait", "2", "--name", "import", "--within", "2s", "--json")
	assert.Equal(t, exit.Undone, late.status)
	assert.Contains(t, late.out, `"wanted":2,"there":1,`)
	assert.Contains(t, late.err, `1 of 2 workers are there that serve`)
	assert.Contains(t, late.err, "within 2s (--within)")
	nobody := s.call("workers", "wait", "1", "--name", "nothing", "--within", "2s")
	assert.Equal(t, exit.Undone, nobody.status)
	assert.Contains(t, nobody.err, "0 of 1 workers are there")
	for _, args := range [][]string{{"none"}, {"0"}, {"-1"}, {"1", "--within", "-1s"}, {}, {"1", "2"}} {
		assert.Equal(t, exit.Usage, s.call(append([]string{"workers", "wait"}, args...)...).status, args)
	}
}

func TestWorkersAreAsked(t *testing.T) {
	t.Parallel()
	s := openShop(t)
	assert.Equal(t, said{exit.OK, "", "work workers ask: no workers are registered\n"},
		s.call("workers", "ask", "--all", "echo"))
	s.Importing()
	id := s.Worker()
	assert.Equal(t, said{exit.OK, `{"worker":"` + id + `","value":{"a":1}}` + "\n", ""},
		s.call("workers", "ask", id[:12], "echo", `{"a":1}`, "--json"))
	all := s.call("workers", "ask", "--all", "info", "--within", "1m")
	assert.Equal(t, exit.OK, all.status)
	assert.Contains(t, strings.Join(strings.Fields(all.out), ""), `"name":"import"`)
	unknown := s.call("workers", "ask", "--all", "nonsense", "--json")
	assert.Equal(t, exit.Undone, unknown.status)
	assert.Contains(t, unknown.out, `is not known to this worker: it answers echo, info"}`)
	assert.Equal(t, exit.NotFound, s.call("workers", "ask", "nobody", "echo").status)
	for _, args := range [][]string{{}, {"echo"}, {id, "echo", "{"}, {id, "echo", "1", "2"},
		{"--all", "echo", "1", "2"}, {"--all", "echo", "--within", "0s"}} {
		assert.Equal(t, exit.Usage, s.call(append([]string{"workers", "ask"}, args...)...).status, args)
	}
}
