package work_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/265d0351/work/internal/enginetest"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// What an internal package has found invalid a program finds as an *InvalidError, with the same text, however deep it
// is.
func TestWhatIsInvalidInsideIsSoOutside(t *testing.T) {
	t.Parallel()
	cause := errors.New("no luck")
	inside := &invalid.Error{What: "the cron spec", Value: `"x"`, Remedy: "write five fields", Err: cause}
	for name, err := range map[string]error{
		"itself": inside, "in another one": fmt.Errorf("schedule %q: %w", "s", inside),
		"beside another one": errors.Join(work.ErrClosed, inside),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := work.AsInvalid(err)
			assert.Equal(t, err.Error(), outside.Error())
			var found *work.InvalidError
			require.ErrorAs(t, outside, &found)
			assert.Equal(t, (*work.InvalidError)(inside), found)
			assert.ErrorIs(t, outside, cause)
		})
	}
	assert.NoError(t, work.AsInvalid(nil))
	assert.Equal(t, cause, work.AsInvalid(cause))
}

func TestEnqueueManyEndsWithThePartThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		enq, driver := pooltest.NewStubEnqueuer(t, func(ctx context.Context, call pooltest.SentCall) (string, error) {
			if call.Number == 2 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return pooltest.StubReply + " 2=duplicate 3=badkey", nil
		})
		entries := make([]work.Entry, 1100)
		for i := range entries {
			entries[i].Name = "a"
		}
		receipts, err := enq.EnqueueMany(context.Background(), entries)
		var failed *work.EnqueueError
		require.ErrorAs(t, err, &failed)
		assert.Len(t, failed.Stored, 499)
		assert.Len(t, failed.Unknown, 500)
		assert.Len(t, failed.NotStored, 101)
		assert.Equal(t, 2, failed.NotStored[0])
		assert.Equal(t, 1000, failed.NotStored[1])
		assert.Equal(t, 500, failed.Unknown[0])
		assert.True(t, receipts[1].Duplicate)
		assert.Equal(t, time.UnixMilli(1732100000000), receipts[0].RunAt)
		assert.Equal(t, work.Receipt{}, receipts[500])
		assert.Len(t, driver.Sent(), 2)
		assert.EqualError(t, err, `499 of 1100 jobs are stored, 101 are not, 500 are unknown (a reply was lost): `+
			`queue "a": the key of its queue holds something that is no list: rename or remove that key`)
	})
}

func TestErrorsOfCallsAreThoseThatAProgramMayTestFor(t *testing.T) {
	t.Parallel()
	lost := errors.New("connection to Redis at redis:6379 lost while waiting for the reply to script enqueue: EOF")
	for name, c := range map[string]struct {
		errs    []error
		is      error
		unknown bool
		want    string
	}{
		"full": {errs: []error{&redisconn.ServerError{Code: "OOM", Message: "OOM something"}}, is: work.ErrRedisFull,
			want: `job "a" is not stored: redis is full (maxmemory): it takes no new jobs until some have ended: OOM something`},
		"lost, then full": {errs: []error{lost, &redisconn.ServerError{Code: "OOM", Message: "OOM something"}},
			is:      work.ErrRedisFull,
			unknown: true, want: `it is not known whether job "a" is stored (a reply was lost): redis is full (maxmemory): ` +
				`it takes no new jobs until some have ended: OOM something`},
		"lost for ever": {errs: slices.Repeat([]error{lost}, 100), is: context.DeadlineExceeded, unknown: true,
			want: `it is not known whether job "a" is stored (a reply was lost): no answer within 10s (EnqueueTimeout): ` +
				lost.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				enq, _ := pooltest.NewStubEnqueuer(t, func(_ context.Context, call pooltest.SentCall) (string, error) {
					return "", c.errs[call.Nth]
				})
				receipt, err := enq.Enqueue(context.Background(), "a")
				var failed *work.EnqueueError
				require.ErrorAs(t, err, &failed)
				assert.EqualError(t, err, c.want)
				require.ErrorIs(t, err, c.is)
				assert.Equal(t, c.unknown, len(failed.Unknown) == 1)
				assert.Equal(t, !c.unknown, len(failed.NotStored) == 1)
				assert.Zero(t, receipt)
			})
		})
	}
}

func TestPanicOfADriverIsAnError(t *testing.T) {
	t.Parallel()
	enq, _ := pooltest.NewStubEnqueuer(t, func(_ context.Context, call pooltest.SentCall) (string, error) {
		if call.Nth > 0 {
			return pooltest.StubReply, nil
		}
		panic("of a driver")
	})
	_, err := enq.Enqueue(t.Context(), "a")
	var panicked *work.PanicError
	require.ErrorAs(t, err, &panicked)
	assert.Equal(t, "of a driver", panicked.Value)
	assert.Contains(t, panicked.Stack, "Pipeline")
	_, err = enq.Enqueue(t.Context(), "a")
	assert.NoError(t, err, "the next call is made")
}

var updateRefusals = flag.Bool("update-refusals", false, "write testdata/enqueue_refusals.golden anew")

type panickingJSON struct{}

func (panickingJSON) MarshalJSON() ([]byte, error) { panic("no JSON today") }

type failingJSON struct{}

func (failingJSON) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON today") }

// badEntry is one entry that must be refused.
type badEntry struct {
	title string
	entry work.Entry
}

func badEntries() []badEntry {
	with := func(opts ...work.EnqueueOption) work.Entry { return work.Entry{Name: "a", Options: opts} }
	args := func(args ...any) work.Entry { return work.Entry{Name: "export", Args: args} }
	circle := map[string]any{}
	circle["itself"] = circle
	return []badEntry{
		{"name: none", work.Entry{}},
		{"name: too long", work.Entry{Name: strings.Repeat("ab", 101)}},
		{"name: control character", work.Entry{Name: "a\nb"}},
		{"name: control character beyond ASCII", work.Entry{Name: "a\u0085b"}},
		{"name: NUL", work.Entry{Name: "\x00"}},
		{"name: no UTF-8", work.Entry{Name: "a\xff"}},
		{"args: a channel", args(1, make(chan int))},
		{"args: no UTF-8", args(1, "file-\xe9")},
		{"args: no UTF-8 in JSON", args(json.RawMessage("\"file-\xe9\""))},
		{"args: JSON that is none", args(json.RawMessage("{"))},
		{"args: a function", args(func() {})},
		{"args: not a number", args(math.NaN())},
		{"args: a circle", args(circle)},
		{"args: MarshalJSON fails", args(1, 2, failingJSON{})},
		{"args: MarshalJSON panics", args(panickingJSON{})},
		{"args: too large", args(slices.Repeat([]any{strings.Repeat("x", 8000)}, 132)...)},
		{"delay: negative", work.Entry{Name: "export", In: -5 * time.Second}},
		{"delay: beyond all bounds", work.Entry{Name: "export", In: math.MaxInt64}},
		{"time: before 1970", work.Entry{Name: "export", At: time.Unix(-5, 0).UTC()}},
		{"time: in another unit", work.Entry{Name: "export", At: time.Unix(1732100000000, 0).UTC()}},
		{"time: and delay", work.Entry{Name: "export", In: 1, At: time.Unix(1, 0)}},
		{"option: nil", with(work.ID("a"), nil)},
		{"option ID: empty", with(work.ID(""))},
		{"option ID: too long", with(work.ID(strings.Repeat("é", 101)))},
		{"option ID: control character", with(work.ID("a\tb"))},
		{"option ID: no UTF-8", with(work.ID("\xff"))},
		{"option Retries: too many", with(work.Retries(math.MaxInt))},
		{"option Timeout: zero", with(work.Timeout(0))},
		{"option Timeout: negative", with(work.Timeout(-time.Second))},
		{"option Retention: zero", with(work.Retention(0))},
		{"option Retention: negative", with(work.Retention(-time.Second))},
		{"option Meta: no key", with(work.Meta("", "a"))},
		{"option Meta: no UTF-8 in the key", with(work.Meta("a\xff", "a"))},
		{"option Meta: no UTF-8 in the value", with(work.Meta("a", "\xff"))},
		{"option Meta: too large",
			with(work.Meta("a", strings.Repeat("x", 10<<10)), work.Meta("b", strings.Repeat("x", 10<<10)))},
		{"option Front: with a delay", work.Entry{Name: "export", In: time.Hour,
			Options: []work.EnqueueOption{work.Front()}}},
		{"option Front: with a time",
			work.Entry{Name: "export", At: time.Now().Add(time.Hour), Options: []work.EnqueueOption{work.Front()}}},
		{"options: the first mistake is told", with(work.Timeout(-1), work.ID(""))},
	}
}

func TestEnqueueRefusesBadEntries(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		for _, bad := range badEntries() {
			t.Run(bad.title, func(t *testing.T) {
				receipt, err := b.EnqueueOne(t.Context(), bad.entry)
				assert.Zero(t, receipt)
				assertRefused(t, err, []int{0})
				receipts, err := b.EnqueueMany(t.Context(), []work.Entry{{Name: "good"}, bad.entry, {Name: "good"}})
				assert.Equal(t, make([]work.Receipt, 3), receipts)
				assertRefused(t, err, []int{0, 1, 2})
				assert.ErrorContains(t, err, "none of 3 jobs is stored: entry 1: ")
				with := b.With(bad.entry.Options...)
				if len(bad.entry.Options) > 0 {
					_, err = with.EnqueueIn(t.Context(), "export", time.Hour)
					assertRefused(t, err, []int{0})
				}
			})
		}
		assert.EqualValues(t, 0, b.Command(t, "EXISTS", b.Key("jobs"), b.Key("queues"), b.Key("lanes")),
			"nothing was stored")
	})
}

func assertRefused(t *testing.T, err error, notStored []int) {
	t.Helper()
	var failed *work.EnqueueError
	var invalid *work.InvalidError
	require.ErrorAs(t, err, &failed)
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, notStored, failed.NotStored)
	assert.Empty(t, failed.Unknown)
	assert.NotEmpty(t, invalid.What)
	assert.NotEmpty(t, invalid.Value)
	assert.NotEmpty(t, invalid.Remedy)
}

func TestEnqueueAtTheZeroTimeIsRefused(t *testing.T) {
	t.Parallel()
	enq, _ := pooltest.NewStubEnqueuer(t,
		func(context.Context, pooltest.SentCall) (string, error) { return pooltest.StubReply, nil })
	_, err := enq.EnqueueAt(t.Context(), "a", time.Time{})
	assertRefused(t, err, []int{0})
	assert.EqualError(t, err, `job "a" is not stored: time of job "a" is the zero time: use Enqueue for at once`)
	_, err = enq.SourcedEnqueueAt(t.Context(), "a", 1, time.Time{})
	assertRefused(t, err, []int{0})
}

// badEnqueuers are arguments of NewEnqueuer that must be refused.
func badEnqueuers() []struct {
	title, dsn string
	opts       []work.EnqueuerOption
} {
	type bad = struct {
		title, dsn string
		opts       []work.EnqueuerOption
	}
	const dsn = "redis://localhost"
	pool := work.Redigo(&redis.Pool{Dial: func() (redis.Conn, error) { return nil, errors.New("never called") }})
	return []bad{
		{"Redis: none", "", nil},
		{"Redis: two", dsn, []work.EnqueuerOption{work.WithConnection(pool)}},
		{"Redis: a typo", "reddis://:geheim@localhost", nil},
		{"Redis: a nil pool", "", []work.EnqueuerOption{work.WithConnection(work.Redigo(nil))}},
		{"Redis: a pool that cannot dial", "", []work.EnqueuerOption{work.WithConnection(work.Redigo(&redis.Pool{}))}},
		{"option: nil", dsn, []work.EnqueuerOption{nil}},
		{"namespace: empty", dsn, []work.EnqueuerOption{work.Namespace("")}},
		{"namespace: braces", dsn, []work.EnqueuerOption{work.Namespace("{shop}")}},
		{"namespace: control character", dsn, []work.EnqueuerOption{work.Namespace("a\nb")}},
		{"namespace: too long", dsn, []work.EnqueuerOption{work.Namespace(strings.Repeat("a", 101))}},
		{"namespace: no UTF-8", dsn, []work.EnqueuerOption{work.Namespace("\xff")}},
		{"EnqueueTimeout: zero", dsn, []work.EnqueuerOption{work.EnqueueTimeout(0)}},
		{"EnqueueTimeout: negative", dsn, []work.EnqueuerOption{work.EnqueueTimeout(-1)}},
		{"MaxArgsSize: zero", dsn, []work.EnqueuerOption{work.MaxArgsSize(0)}},
		{"MaxArgsSize: too large", dsn, []work.EnqueuerOption{work.MaxArgsSize(1 << 30)}},
	}
}

func TestNewEnqueuerRefusesBadArguments(t *testing.T) {
	t.Parallel()
	for _, bad := range badEnqueuers() {
		t.Run(bad.title, func(t *testing.T) {
			t.Parallel()
			enq, err := work.NewEnqueuer(bad.dsn, bad.opts...)
			require.Error(t, err)
			assert.Nil(t, enq)
			assert.NotContains(t, err.Error(), "geheim")
		})
	}
}

// TestRefusalsReadWell keeps all sentences in one file, where they can be read.
func TestRefusalsReadWell(t *testing.T) {
	t.Parallel()
	enq, driver := pooltest.NewStubEnqueuer(t,
		func(context.Context, pooltest.SentCall) (string, error) { return pooltest.StubReply, nil })
	var text strings.Builder
	for _, bad := range badEntries() {
		_, err := enq.EnqueueOne(t.Context(), bad.entry)
		fmt.Fprintf(&text, "%s\n\t%v\n", bad.title, err)
		_, asMany := enq.EnqueueMany(t.Context(), []work.Entry{bad.entry})
		assert.Equal(t, err, asMany, "one entry needs no number, and no other sentence")
	}
	for _, bad := range badEnqueuers() {
		_, err := work.NewEnqueuer(bad.dsn, bad.opts...)
		fmt.Fprintf(&text, "%s\n\t%v\n", bad.title, err)
	}
	assert.Empty(t, driver.Sent())
	golden := filepath.Join("testdata", "enqueue_refusals.golden")
	if *updateRefusals {
		require.NoError(t, os.WriteFile(golden, []byte(text.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(), "run with -update-refusals if the new sentences are better")
}

func TestNamesThatAreOddAreFine(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		for _, name := range []string{" ", "a:b", "{a}", "größe", "\u2028", strings.Repeat("x", 200), `"\`, "a b c",
			"*?[", "日本"} {
			receipt, err := b.With(work.ID(name)).Enqueue(t.Context(), name)
			require.NoError(t, err)
			assert.Equal(t, name, receipt.ID)
			jobs := b.Fetch(t, name)
			require.Len(t, jobs, 1)
			r, err := record.Decode(jobs[0].Record)
			require.NoError(t, err)
			assert.Equal(t, name, r.ID)
			assert.Equal(t, name, r.Name)
			b.Complete(t, jobs)
		}
	})
}

func TestArgsOfTheLargestSizeAreStored(t *testing.T) {
	t.Parallel()
	enginetest.OnEachRedis(t, func(t *testing.T, b *enginetest.EnqueueBench) {
		_, err := b.Enqueue(t.Context(), "a", strings.Repeat("x", 996))
		require.NoError(t, err, "1,000 bytes with brackets and quotes")
		_, err = b.Enqueue(t.Context(), "a", strings.Repeat("x", 997))
		assert.EqualError(t, err, `job "a" is not stored: the JSON of the args of job "a" is 1001 bytes long: at most 1000 are allowed (MaxArgsSize): `+
			`pass a reference to what is large`)
		assert.Len(t, b.Waiting(t, "a"), 1)
	}, work.MaxArgsSize(1000))
}

func TestEnqueueWithACheckRefusesWhatItRefuses(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		b := enginetest.NewEnqueueBench(t, s, s.DSN())
		picky := work.OnStore(b.Store, work.Checking(func(name string, args []byte) error {
			if name == "a" && string(args) != "[1]" {
				return fmt.Errorf("argument 1 is %s: it must be 1", args)
			}
			return nil
		}))
		defer picky.Close()
		_, err := picky.Enqueue(t.Context(), "a", 2)
		assert.EqualError(t, err, `job "a" is not stored: args of job "a" do not fit its handler: argument 1 is [2]: it must be 1`)
		_, err = picky.EnqueueMany(t.Context(), []work.Entry{{Name: "a", Args: []any{1}}, {Name: "a", Args: []any{2}}})
		assert.Error(t, err)
		assert.Empty(t, b.Waiting(t, "a"))
		_, err = picky.Enqueue(t.Context(), "a", 1)
		assert.NoError(t, err)
	})
}

// TestAnEnqueueWithoutMiddlewareAllocatesNothingMore is not parallel: others would be counted too.
func TestAnEnqueueWithoutMiddlewareAllocatesNothingMore(t *testing.T) {
	redistest.SkipUnderRace(t, "the race detector allocates, too")
	enq := pooltest.EnqueuerOn(&pooltest.StubDriver{}, "test")
	ctx := context.Background()
	entry := work.Entry{Name: "", Args: []any{1}} // refused before anything is sent, so that nothing else allocates
	direct := testing.AllocsPerRun(100, func() { _, _ = enq.StoreOne(ctx, entry) })
	whole := testing.AllocsPerRun(100, func() { _, _ = enq.EnqueueOne(ctx, entry) })
	require.NotZero(t, direct)
	assert.Equal(t, direct, whole)
	enq.WrapIn([]work.EnqueueMiddleware{func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
		_, err := next(ctx, entries)
		return err
	}})
	assert.Greater(t, testing.AllocsPerRun(100, func() { _, _ = enq.EnqueueOne(ctx, entry) }), direct, "it is measured")
}
