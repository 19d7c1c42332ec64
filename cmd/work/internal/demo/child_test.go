package demo

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/exit"
)

func TestWorkerToldToStopBeforeItHasBegun(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections and never answers
	require.NoError(t, err)
	defer func() { assert.NoError(t, silent.Close()) }()
	opts, err := json.Marshal(poolOptions{Redis: "redis://" + silent.Addr().String(), Namespace: "x", Concurrency: 1})
	require.NoError(t, err)
	assert.NoError(t, RunWorker(t.Context(), strings.NewReader(string(opts)+"\n"), io.Discard, io.Discard))
}

func TestWorkerRefusesOptionsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, in, want string }{
		{"no line", "", "which ended: EOF"},
		{"not JSON", "nonsense\n", "its options are not JSON"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			var usage *exit.UsageError
			err := RunWorker(t.Context(), strings.NewReader(row.in), io.Discard, io.Discard)
			require.ErrorAs(t, err, &usage)
			assert.ErrorContains(t, err, row.want)
		})
	}
}

func TestMarksAreLinesOfOneWriteEach(t *testing.T) {
	t.Parallel()
	var out writes
	marks := &markWriter{out: json.NewEncoder(&out), gate: newGate(0)}
	marks.write(mark{What: begun, ID: "a", At: at(0)})
	marks.write(mark{What: ended, ID: "a", At: at(1), Err: "line\nbreak"})
	require.Len(t, out, 2)
	for _, one := range out {
		assert.Equal(t, 1, bytes.Count(one, []byte("\n")), "%q", one)
	}
	log := newRunLog()
	(&process{number: 2, stderr: &tail{}}).readMarks(bytes.NewReader(bytes.Join(out, nil)), log)
	runs := log.of("a")
	require.Len(t, runs, 1)
	assert.Equal(t, "line\nbreak", runs[0].err)
	assert.True(t, at(1).Equal(runs[0].ended))
}

// writes keeps each write apart.
type writes [][]byte

func (w *writes) Write(p []byte) (int, error) {
	*w = append(*w, bytes.Clone(p))
	return len(p), nil
}
