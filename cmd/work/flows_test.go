package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/flow"
)

// withFlows stores flows in the shop: "order-7" of which a member is dead, "order-8" that runs, and "import-9", whose
// 200 pages are to be put together.
func withFlows(t *testing.T) *shop {
	t.Helper()
	s := openShop(t)
	order := func(id string) {
		f := flow.New(id)
		charge, pick := f.Job("charge", 7), f.Job("pick", 7)
		ship := f.Job("ship", 7).After(charge, pick)
		f.Job("tell", 7).After(ship).Even(flow.Dead)
		f.Job("rate", 7).After(ship).Hold(flow.Dead)
		f.OnDone("close", 7).OnDeath("refund", 7)
		_, err := flow.Enqueue(t.Context(), s.Enq, f)
		require.NoError(t, err)
	}
	order("order-7")
	quiet := slog.New(slog.DiscardHandler)
	pool := work.NewWorkerPool(nil, 1, work.WorkerOptions{Redis: s.Server.DSN(), Logger: quiet}).
		Job("charge", func(int) error { return nil }).
		Job("pick", func(int) error { return work.Bury(errors.New("out of it")) }).
		Job("tell", func(int) error { return nil }).Job("refund", func(int) error { return nil })
	require.NoError(t, pool.Start(t.Context()))
	_, err := flow.Wait(t.Context(), s.Enq, "order-7")
	require.NoError(t, err)
	require.NoError(t, pool.Drain(t.Context()))
	require.NoError(t, pool.Stop(t.Context()))
	order("order-8")
	order9, packing := flow.New("order-9"), flow.New("")
	packing.Job("label", 9).After(packing.Job("box", 9))
	order9.Job("ship", 9).After(order9.Flow("packing", packing).After(order9.Job("charge", 9)))
	_, err = flow.Enqueue(t.Context(), s.Enq, order9)
	require.NoError(t, err)
	f := flow.New("import-9")
	begin := f.Job("begin")
	var pages []*flow.Job
	for n := range 200 {
		pages = append(pages, f.Job("page", n).Named(fmt.Sprint("page-", n)).After(begin))
	}
	f.Job("sum").After(pages...)
	_, err = flow.Enqueue(t.Context(), s.Enq, f)
	require.NoError(t, err)
	return s
}

func TestCommandsThatLookAtFlows(t *testing.T) {
	t.Parallel()
	s := withFlows(t)
	for _, args := range [][]string{
		{"flows"}, {"flows", "list", "--state", "dead"}, {"flows", "list", "--state", "unsealed"},
		{"flows", "show", "order-7"}, {"flows", "show", "order-8"}, {"flows", "show", "import-9"},
		{"flows", "show", "nobody"}, {"flows", "show", "order-9"}, {"flows", "show", "order-9/packing"},
		{"flows", "members", "order-9"},
		{"flows", "members", "order-7"}, {"flows", "members", "import-9", "--name", "sum"},
		{"flows", "members", "order-7", "--state", "dead"},
		{"flows", "wait", "order-7"}, {"flows", "wait", "nobody"},
		{"flows", "cancel", "order-8", "nobody", "--dry-run"}, {"flows", "retry", "order-8", "--dry-run"},
		{"flows", "delete", "order-7", "--dry-run"},
	} {
		for _, extra := range [][]string{nil, {"--json"}} {
			args := append(append([]string{}, args...), extra...)
			name := strings.Join(args, " ")
			t.Run(name, func(t *testing.T) {
				clitest.Golden(t, "look/"+fileName(name), s.settled(s.call(args...)))
			})
		}
	}
}

func TestFlowsAreSteeredFromTheCommandLine(t *testing.T) {
	t.Parallel()
	s := withFlows(t)
	ok := func(out string, args ...string) {
		t.Helper()
		assert.Equal(t, said{out: out}, s.call(args...), args)
	}
	ok("1 flow paused\n", "flows", "pause", "order-8")
	assert.Contains(t, s.call("flows", "show", "order-8").out, "paused")
	ok("1 flow resumed\n", "flows", "resume", "order-8")
	ok("1 flow retried\n", "flows", "retry", "order-7")
	assert.Contains(t, s.call("flows", "show", "order-7").out, "running, retried 1 time")
	ok("2 flows cancelled\n", "flows", "cancel", "order-7", "order-8")
	assert.Equal(t, exit.Unhappy, s.call("flows", "wait", "order-8").status)
	assert.Equal(t, exit.Usage, s.call("flows", "delete", "order-7").status, "it asks")
	ok("2 flows deleted\n", "flows", "delete", "order-7", "order-8", "--yes")
	assert.Equal(t, exit.NotFound, s.call("flows", "show", "order-7").status)
	late := s.call("flows", "wait", "import-9", "--within", "10ms")
	assert.Equal(t, exit.Failure, late.status)
	assert.Contains(t, late.err, "--within")
	first := s.call("flows", "members", "import-9", "--limit", "100")
	assert.Equal(t, 101, strings.Count(first.out, "\n"))
	_, cursor, found := strings.Cut(strings.TrimSpace(first.err), "--cursor ")
	require.True(t, found, first.err)
	rest := s.call("flows", "members", "import-9", "--limit", "0", "--cursor", cursor)
	assert.Equal(t, 103, strings.Count(rest.out, "\n"))
	for _, args := range [][]string{{"flows", "list", "--state", "odd"},
		{"flows", "members", "import-9", "--state", "odd"}, {"flows", "list", "--limit", "-1"},
		{"flows", "wait", "order-8", "--within", "-1s"}, {"flows", "show"}} {
		assert.Equal(t, exit.Usage, s.call(args...).status, args)
	}
}
