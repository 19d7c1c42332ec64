package embedded

import (
	"bytes"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A client sends all calls of a pipeline before it reads an answer: neither end may wait for the other then.
func TestAPipeTakesWhatNobodyReadsYet(t *testing.T) {
	t.Parallel()
	a, b := newPipe()
	sent := bytes.Repeat([]byte("0123456789"), 100_000)
	for from, to := range map[net.Conn]net.Conn{a: b, b: a} {
		n, err := from.Write(sent)
		require.NoError(t, err)
		require.Equal(t, len(sent), n)
		got := make([]byte, len(sent))
		_, err = io.ReadFull(to, got)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(sent, got))
	}
}

func TestAReadOfAPipeEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newPipe()
		began := time.Now()
		require.NoError(t, a.SetReadDeadline(began.Add(time.Minute)))
		_, err := a.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		assert.Equal(t, time.Minute, time.Since(began))
		require.NoError(t, a.SetReadDeadline(time.Time{}))
		time.AfterFunc(time.Hour, func() { b.Write([]byte("x")) }) //lint:ignore errcheck the read shows it
		n, err := a.Read(make([]byte, 1))
		require.NoError(t, err)
		assert.Equal(t, 1, n)
		assert.Equal(t, time.Hour+time.Minute, time.Since(began))

		time.AfterFunc(time.Second, func() { assert.NoError(t, a.SetDeadline(time.Now())) })
		_, err = a.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "a deadline that comes while it waits")
	})
}

func TestTheEndOfAPipe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newPipe()
		_, err := a.Write([]byte("last"))
		require.NoError(t, err)
		time.AfterFunc(time.Second, func() { assert.NoError(t, a.Close()) })
		_, err = a.Read(make([]byte, 1))
		require.ErrorIs(t, err, net.ErrClosed, "its own reads end")
		_, err = a.Write([]byte("more"))
		require.ErrorIs(t, err, io.ErrClosedPipe)
		got, err := io.ReadAll(b)
		require.NoError(t, err)
		assert.Equal(t, "last", string(got), "what was written before arrives")
		_, err = b.Write([]byte("more"))
		require.ErrorIs(t, err, io.ErrClosedPipe)
		require.NoError(t, b.Close())
		require.NoError(t, a.Close(), "a second time")
	})
}
