package main

import (
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/internal/redistest"
)

func TestTopEndsAtASignalRealRedis(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	enqueueMany(t, server.DSN(), map[string]int{"export": 12})
	x := openTerminal(t, 100, 24, nil, "top", "--redis", server.DSN())
	x.see(`^› export +12 `)
	shell, err := strconv.Atoi(strings.TrimSpace(x.tmux("display-message", "-p", "#{pane_pid}")))
	require.NoError(t, err)
	programs := childrenOf(t, shell)
	require.Len(t, programs, 1)
	require.NoError(t, syscall.Kill(programs[0], syscall.SIGTERM))
	x.restored(exit.Interrupted)
	x.see(`^work: interrupted$`)
}
