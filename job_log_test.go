package work

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/redistest"
)

func TestAJobWritesALogThatCanBeReadWhileItRuns(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		release := make(chan struct{})
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			job.Logger().Info("begun", "rows", 3)
			job.Logger().With("part", "a").WithGroup("of").Warn("careful", "x", "ü\x00\n<")
			job.Logger().Debug("not kept")
			<-release
			job.Logger().Error("failed", "attempt", "mine")
			return errLuck
		}))
		before := time.Now()
		id := k.enqueue("long").ID
		k.logged(id, 2)
		lines, err := k.inspector().Log(k.ctx(), id, 0)
		require.NoError(t, err)
		require.Len(t, lines, 2)
		assert.WithinRange(t, lines[0].Time, before.Add(-time.Second), time.Now().Add(time.Second))
		assert.Equal(t, LogLine{Number: 1, Time: lines[0].Time, Message: "begun", Attempt: 1,
			Attrs: []byte(`{"rows":3}`)}, lines[0])
		assert.Equal(t, LogLine{Number: 2, Time: lines[1].Time, Level: slog.LevelWarn, Message: "careful", Attempt: 1,
			Attrs: []byte(`{"part":"a","of":{"x":"ü\u0000\n<"}}`)}, lines[1])
		close(release)
		await(t, k.spy, ofJob[event.JobFailed](id))
		k.drained(pool)
		assert.Equal(t, []string{"begun", "careful", "failed"}, k.messages(id), "all is there when the outcome is")
		last, err := k.inspector().Log(k.ctx(), id, 1)
		require.NoError(t, err)
		assert.Equal(t, "failed", last[0].Message)
		assert.JSONEq(t, `{"attempt":"mine"}`, string(last[0].Attrs), "what the program names so is not taken for ours")
		assert.True(t, k.trail(id).Log, "so that it goes away with the job")
		assert.False(t, k.trail(id).State)
		k.noTrouble(t)
	})
}

// TestALogEndsWithItsJob: each row ends a job that has logged and saved.
func TestALogEndsWithItsJob(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end  error
		left int
	}{
		"done":      {nil, 0},
		"discarded": {Discard(nil), 0},
		"buried":    {Bury(errLuck), 2},
		"failed":    {errLuck, 2},
		"snoozed":   {Snooze(time.Hour), 2},
		"released":  {Release(nil), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
					job.Logger().Info("here")
					require.NoError(t, job.SaveState(k.ctx(), 7))
					return tt.end
				}))
				id := k.enqueue("long").ID
				k.until("it is settled", func() bool {
					return k.number("HLEN", "claimed") == 0 &&
						k.number("LLEN", "queue:long") == 0
				})
				k.drained(pool)
				assert.Len(t, k.left(), tt.left)
				if tt.left > 0 {
					assert.True(t, k.trail(id).Log && k.trail(id).State)
				} else {
					k.empty("long")
				}
				k.noTrouble(t)
			})
		})
	}
}

func TestALogIsBounded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lines, bytes, most, least int
	}{
		"many lines":  {5000, 10, 1000, 500},
		"large lines": {400, 3500, 80, 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				k := newKit(t, s)
				pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
					for i := range tt.lines {
						job.Logger().Info("line", "i", i, "text", strings.Repeat("x", tt.bytes))
					}
					return errLuck
				}))
				id := k.enqueue("long").ID
				await(t, k.spy, ofJob[event.JobFailed](id))
				k.drained(pool)
				lines, err := k.inspector().Log(k.ctx(), id, 0)
				require.NoError(t, err)
				assert.LessOrEqual(t, len(lines), tt.most)
				assert.GreaterOrEqual(t, len(lines), tt.least)
				assert.Contains(t, string(lines[len(lines)-1].Attrs), fmt.Sprintf(`"i":%d,`, tt.lines-1),
					"the newest are kept")
				bytes := 0
				for i, line := range k.strings("LRANGE", "log:"+id, 1, -1) {
					bytes += len(line)
					assert.True(t, i == 0 || lines[i].Number == lines[i-1].Number+1)
				}
				assert.LessOrEqual(t, bytes, 256<<10)
				assert.Positive(t, k.number("PTTL", "log:"+id))
				k.noTrouble(t)
			})
		})
	}
}

func TestHostileLinesAreKeptInBounds(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			log := job.Logger()
			log.Info("a\xffb\x00\n# 1 2 3 4")
			log.Info(strings.Repeat("ü", 1<<20))
			log.With("huge", strings.Repeat("x", 1<<20)).Warn("too long")
			log.Info("panics", "v", panicking{})
			log.Info("no json", "f", func() {})
			log.Info("", "err", errors.New("x\r\ny"))
			return errLuck
		}))
		id := k.enqueue("long").ID
		await(t, k.spy, ofJob[event.JobFailed](id))
		k.drained(pool)
		lines, err := k.inspector().Log(k.ctx(), id, 0)
		require.NoError(t, err)
		require.Len(t, lines, 6)
		assert.Equal(t, "a\uFFFDb\x00\n# 1 2 3 4", lines[0].Message)
		assert.Len(t, lines[1].Message, 1023)
		assert.Equal(t, slog.LevelWarn, lines[2].Level)
		assert.Regexp(t, `^{"left_out":10\d{5}}$`, string(lines[2].Attrs))
		assert.Contains(t, string(lines[3].Attrs), "panic")
		assert.JSONEq(t, `{"err":"x\r\ny"}`, string(lines[5].Attrs))
		k.noTrouble(t)
	})
}

// panicking is a value that cannot be logged.
type panicking struct{}

func (panicking) LogValue() slog.Value { panic("hostile") }

func TestALoggerMayBeUsedByManyGoroutinesAndAfterItsJob(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		kept := make(chan *Job, 1)
		pool := k.start(NewWorkerPool(nil, 1, k.options()).Job("long", func(job *Job) error {
			var all sync.WaitGroup
			for i := range 10 {
				all.Go(func() {
					for range 20 {
						job.Logger().Info(fmt.Sprint(i))
					}
				})
			}
			all.Wait()
			kept <- job
			return errLuck
		}))
		id := k.enqueue("long").ID
		await(t, k.spy, ofJob[event.JobFailed](id))
		k.drained(pool)
		assert.Len(t, k.messages(id), 200)
		late := receive(t, kept)
		late.Logger().Info("after its end")
		require.ErrorIs(t, late.SaveState(k.ctx(), 1), ErrAttemptOver)
		assert.Len(t, k.messages(id), 200)
		assert.Empty(t, k.remains(":state:"))
	})
}

func TestALogGoesToThePoolsLoggerOnRequest(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var mirrored lockedBuffer
		options := k.options()
		options.MirrorJobLogs = true
		options.Logger = slog.New(slog.NewTextHandler(&mirrored, &slog.HandlerOptions{Level: slog.LevelDebug}))
		pool := k.start(NewWorkerPool(nil, 1, options).Job("long", func(job *Job) error {
			job.Logger().With("a", 1).WithGroup("g").Info("to both", "b", 2)
			job.Logger().Debug("to one")
			return errLuck
		}))
		id := k.enqueue("long").ID
		await(t, k.spy, ofJob[event.JobFailed](id))
		k.drained(pool)
		assert.Equal(t, []string{"to both"}, k.messages(id))
		assert.Contains(t, mirrored.String(), `msg="to both" job=`+id+` name=long a=1 g.b=2`)
		assert.Contains(t, mirrored.String(), `msg="to one" job=`+id)
	})
}

func TestALoggerOfAJobThatNoPoolRuns(t *testing.T) {
	t.Parallel()
	job := &Job{ID: "by hand"}
	assert.NotNil(t, job.Logger())
	require.NoError(t, job.Progress(1))
	require.ErrorIs(t, job.SaveState(t.Context(), 1), ErrNoPool)
	_, err := job.LoadState(t.Context(), new(int))
	require.ErrorIs(t, err, ErrNoPool)
}
