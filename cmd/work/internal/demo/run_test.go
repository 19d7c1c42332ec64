package demo

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/cmd/work/internal/clitest"
	"github.com/265d0351/work/cmd/work/internal/console"
	"github.com/265d0351/work/cmd/work/internal/filetree"
	"github.com/265d0351/work/cmd/work/internal/interrupt"
)

// newDemo is a demo of dir as the command would make it, silent.
func newDemo(dir string) *demo {
	return &demo{Options: Options{
		Dir: dir, Namespace: freshNamespace("test"), Concurrency: 10, Flaky: 4, Scheduled: 2,
		Console: &console.Console{Out: io.Discard, Err: io.Discard, Quiet: true},
		Logger:  slog.New(slog.DiscardHandler), Hurry: context.Background(),
	}}
}

func sha(text string) string {
	sum := filetree.NewCounter()
	_, _ = sum.Write([]byte(text))
	return prefix(sum.Result().SHA256)
}

// What happens between the jobs and the plain walk is found, named and an error.
func TestDemoFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	spoil := func(change func(*filetree.Measurement)) func(*testing.T, string, *results) {
		return func(_ *testing.T, _ string, got *results) {
			for id, m := range got.measured {
				change(&m)
				got.measured[id] = m
			}
		}
	}
	for _, row := range []struct {
		name   string
		tamper func(*testing.T, string, *results)
		want   difference
	}{
		{"a wrong result", spoil(func(m *filetree.Measurement) { m.Words++ }),
			difference{Subject: "f", What: "the job and the plain walk disagree: words 3 and 2"}},
		{"a missing result", func(_ *testing.T, _ string, got *results) { clear(got.measured) },
			difference{Subject: "f", What: noResult}},
		{"a file that changed", func(t *testing.T, dir string,
			_ *results) {
			clitest.Write(t, dir, "f", "one two\nthree\n")
		},
			difference{Subject: "f", Changed: true,
				What: "it changed while the demo ran: size 8 and 14, lines 1 and 2, words 2 and 3, SHA-256 " +
					sha("one two\n") + " and " + sha("one two\nthree\n")}},
		{"a file that vanished", func(t *testing.T, dir string,
			_ *results) {
			require.NoError(t, os.Remove(filepath.Join(dir, "f")))
		},
			difference{Subject: "f", Changed: true, What: "it vanished while the demo ran"}},
		{"a file that appeared", func(t *testing.T, dir string, _ *results) { clitest.Write(t, dir, "new", "") },
			difference{Subject: "new", Changed: true, What: "appeared while the demo ran, so it has no job"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			clitest.Write(t, dir, "f", "one two\n")
			d := newDemo(dir)
			d.tamper = func(got *results) { row.tamper(t, dir, got) }
			out, err := d.run(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []difference{row.want}, out.differences)
		})
	}
}

func TestADifferenceIsPrintedAndAFailure(t *testing.T) {
	t.Parallel()
	d := newDemo(t.TempDir())
	d.Flaky, d.tamper = 1, func(got *results) { clear(got.attempts) }
	out, err := d.run(t.Context())
	require.NoError(t, err)
	require.Len(t, out.differences, 1)
	var text bytes.Buffer
	d.Console.Out = &text
	assert.EqualError(t, out.show(d), "the demo failed: 1 difference")
	assert.Contains(t, text.String(), "Not as it should be: 1 thing.\n  job flaky ")
}

func TestDemoStopsWhenInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 20 {
		clitest.Write(t, dir, string(rune('a'+i)), "x")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	d := newDemo(dir)
	d.Slow, d.Concurrency = 20*time.Millisecond, 2
	d.onProgress = func(done int) {
		if done >= 3 {
			cancel(interrupt.Err)
		}
	}
	_, err := d.run(ctx)
	assert.EqualError(t, err, "interrupted: the jobs that were not done are left undone")
	assert.ErrorIs(t, err, interrupt.Err)
}

func TestPathsTravelAsBytes(t *testing.T) {
	t.Parallel()
	o := order{name: jobMeasure}
	encoded, err := json.Marshal(o.entry("/d\xff", []filetree.File{{Path: "bad\xfe"}}).Args)
	require.NoError(t, err)
	b64 := base64.StdEncoding.EncodeToString
	assert.Equal(t, `["`+b64([]byte("/d\xff"))+`","`+b64([]byte("bad\xfe"))+`"]`, string(encoded))
}
