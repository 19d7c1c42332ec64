package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/cli"
	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/exit"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

// startSwallower passes on what goes to the Redis of dsn, and what it answers until a request holds the marker. From
// then on answers are lost, except that a script is not known, which is asked for once only.
func startSwallower(t *testing.T, dsn, marker string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	target := strings.TrimSuffix(strings.TrimPrefix(dsn, "redis://"), "/0")
	var lost atomic.Bool
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // the test has ended
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				_ = client.Close()
				continue
			}
			go pass(server, client, func(sent []byte) bool {
				lost.Store(lost.Load() || bytes.Contains(sent, []byte(marker)))
				return true
			})
			go pass(client, server, func(answer []byte) bool {
				return !lost.Load() || bytes.HasPrefix(answer, []byte("-NOSCRIPT"))
			})
		}
	}()
	return "redis://" + listener.Addr().String()
}

// pass copies what is let through, and closes both ends with the first that is closed.
func pass(to io.WriteCloser, from io.ReadCloser, let func([]byte) bool) {
	defer to.Close()
	defer from.Close()
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 && let(piece[:n]) {
			if _, err := to.Write(piece[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func TestEnqueueWhoseReplyIsLostTellsHowToBeSure(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		args []string
	}{
		{"an id of its own", nil},
		{"an id that was given", []string{"--id", "mine"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dsn := clitest.Redis(t)
			args := append([]string{"enqueue", "--force", "--redis", startSwallower(t, dsn, "greet"),
				"--within", "500ms",
				"greet"}, row.args...)
			got := call(args...)
			assert.Equal(t, exit.Failure, got.status)
			assert.Empty(t, got.out)
			assert.True(t, strings.HasPrefix(got.err,
				`work: it is not known whether job "greet" is stored (a reply was lost): `), got.err)
			assert.NotContains(t, got.err, "not enqueued")
			advice := regexp.MustCompile(`: run it again with --id (\S+) to be sure that it is stored once`).
				FindStringSubmatch(got.err)
			require.Len(t, advice, 2, got.err)
			assert.Equal(t, said{out: advice[1] + "\n", err: "work: a job with the id " + advice[1] +
				" was there already, nothing was stored\n"},
				call("enqueue", "--force", "--redis", dsn, "greet", "--id", advice[1]), "it was stored under that id")
		})
	}
}

func TestEnqueueConcludes(t *testing.T) {
	t.Parallel()
	stored := work.Receipt{ID: "one", Name: "greet"}
	late := &work.EnqueueError{NotStored: []int{0}, Err: context.DeadlineExceeded}
	for _, row := range []struct {
		name          string
		got           work.Receipt
		err, closeErr error
		want          said
	}{
		{"stored", stored, nil, nil, said{out: "one\n"}},
		{"stored, and Close failed", stored, nil, assert.AnError,
			said{exit.Failure, "one\n", "work: the job is stored, but the connection did not close in good order: " +
				assert.AnError.Error() + "\n"}},
		{"stored, but", stored, &work.EnqueueError{Stored: []int{0}, Err: assert.AnError}, nil,
			said{exit.Failure, "one\n", "work: the job is stored, but: " + assert.AnError.Error() + "\n"}},
		{"not stored, and Close failed", work.Receipt{}, late, assert.AnError,
			said{exit.Failure, "", "work: the job is not stored: context deadline exceeded\n"}},
		{"unknown", work.Receipt{}, &work.EnqueueError{Unknown: []int{0}, Err: context.DeadlineExceeded}, nil,
			said{exit.Failure, "",
				"work: it is not known whether the job is stored (a reply was lost): context deadline " +
					"exceeded: " +
					"run it again with --id one to be sure that it is stored once (if it has ended by then, it would " +
					"run again)\n"}},
		{"interrupted", work.Receipt{}, &work.EnqueueError{NotStored: []int{0}, Err: interrupt.Err}, nil,
			said{exit.Interrupted, "", "work: the job is not stored: interrupted\n"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var out, errOut bytes.Buffer
			a := &cli.App{Out: &out, Err: &errOut, Running: true}
			status := a.Status(concludeEnqueue(a, "one", row.got, enqueueErrors{call: row.err, close: row.closeErr}))
			assert.Equal(t, row.want, said{status: status, out: out.String(), err: errOut.String()})
		})
	}
}

func TestEnqueueChoosesAnIDThatIsPrinted(t *testing.T) {
	t.Parallel()
	dsn := clitest.Redis(t)
	first, second := call("enqueue", "--force", "--redis", dsn, "greet"), call("enqueue", "--redis", dsn, "greet")
	assert.Regexp(t, `^[a-z2-7]{26}\n$`, first.out)
	assert.NotEqual(t, first, second)
	assert.Equal(t, strings.TrimSpace(first.out), runOne(t, dsn, "greet").ID)
}

func TestLatenessIsAMissedDeadline(t *testing.T) {
	t.Parallel()
	assert.True(t, errors.Is(&cli.LateError{}, context.DeadlineExceeded))
	assert.False(t, errors.Is(&cli.LateError{}, context.Canceled))
}
