package work

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var updateRefusals = flag.Bool("update-refusals", false, "write testdata/enqueue_refusals.golden anew")

type panickingJSON struct{}

func (panickingJSON) MarshalJSON() ([]byte, error) { panic("no JSON today") }

type failingJSON struct{}

func (failingJSON) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON today") }

// badEntry is one entry that must be refused.
type badEntry struct {
	title string
	entry Entry
}

func badEntries() []badEntry {
	with := func(opts ...EnqueueOption) Entry { return Entry{Name: "a", Options: opts} }
	args := func(args ...any) Entry { return Entry{Name: "export", Args: args} }
	circle := map[string]any{}
	circle["itself"] = circle
	return []badEntry{
		{"name: none", Entry{}},
		{"name: too long", Entry{Name: strings.Repeat("ab", 101)}},
		{"name: control character", Entry{Name: "a\nb"}},
		{"name: control character beyond ASCII", Entry{Name: "a\u0085b"}},
		{"name: NUL", Entry{Name: "\x00"}},
		{"name: no UTF-8", Entry{Name: "a\xff"}},
		{"args: a channel", args(1, make(chan int))},
		{"args: a function", args(func() {})},
		{"args: not a number", args(math.NaN())},
		{"args: a circle", args(circle)},
		{"args: MarshalJSON fails", args(1, 2, failingJSON{})},
		{"args: MarshalJSON panics", args(panickingJSON{})},
		{"args: too large", args(slices.Repeat([]any{strings.Repeat("x", 8000)}, 132)...)},
		{"delay: negative", Entry{Name: "export", In: -5 * time.Second}},
		{"delay: beyond all bounds", Entry{Name: "export", In: math.MaxInt64}},
		{"time: before 1970", Entry{Name: "export", At: time.Unix(-5, 0).UTC()}},
		{"time: in another unit", Entry{Name: "export", At: time.Unix(1732100000000, 0).UTC()}},
		{"time: and delay", Entry{Name: "export", In: 1, At: time.Unix(1, 0)}},
		{"option: nil", with(ID("a"), nil)},
		{"option ID: empty", with(ID(""))},
		{"option ID: too long", with(ID(strings.Repeat("é", 101)))},
		{"option ID: control character", with(ID("a\tb"))},
		{"option ID: no UTF-8", with(ID("\xff"))},
		{"option Retries: too many", with(Retries(math.MaxInt))},
		{"option Timeout: zero", with(Timeout(0))},
		{"option Timeout: negative", with(Timeout(-time.Second))},
		{"option Retention: zero", with(Retention(0))},
		{"option Retention: negative", with(Retention(-time.Second))},
		{"option Meta: no key", with(Meta("", "a"))},
		{"option Meta: no UTF-8 in the key", with(Meta("a\xff", "a"))},
		{"option Meta: no UTF-8 in the value", with(Meta("a", "\xff"))},
		{"option Meta: too large",
			with(Meta("a", strings.Repeat("x", 10<<10)), Meta("b", strings.Repeat("x", 10<<10)))},
		{"option Front: with a delay", Entry{Name: "export", In: time.Hour, Options: []EnqueueOption{Front()}}},
		{"option Front: with a time",
			Entry{Name: "export", At: time.Now().Add(time.Hour), Options: []EnqueueOption{Front()}}},
		{"options: the first mistake is told", with(Timeout(-1), ID(""))},
	}
}

func TestEnqueueRefusesBadEntries(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		for _, bad := range badEntries() {
			t.Run(bad.title, func(t *testing.T) {
				receipt, err := b.enqueue(t.Context(), bad.entry)
				assert.Zero(t, receipt)
				assertRefused(t, err, []int{0})
				receipts, err := b.EnqueueMany(t.Context(), []Entry{{Name: "good"}, bad.entry, {Name: "good"}})
				assert.Equal(t, make([]Receipt, 3), receipts)
				assertRefused(t, err, []int{0, 1, 2})
				assert.ErrorContains(t, err, "none of 3 jobs is stored: entry 1: ")
				with := b.With(bad.entry.Options...)
				if len(bad.entry.Options) > 0 {
					_, err = with.EnqueueIn(t.Context(), "export", time.Hour)
					assertRefused(t, err, []int{0})
				}
			})
		}
		assert.EqualValues(t, 0, b.command(t, "EXISTS", b.key("jobs"), b.key("queues"), b.key("lanes")),
			"nothing was stored")
	})
}

func assertRefused(t *testing.T, err error, notStored []int) {
	t.Helper()
	var failed *EnqueueError
	var invalid *InvalidError
	require.ErrorAs(t, err, &failed)
	require.ErrorAs(t, err, &invalid)
	assert.Equal(t, &EnqueueError{NotStored: notStored, Err: failed.Err, job: failed.job}, failed)
	assert.NotEmpty(t, invalid.What)
	assert.NotEmpty(t, invalid.Value)
	assert.NotEmpty(t, invalid.Remedy)
}

func TestEnqueueAtTheZeroTimeIsRefused(t *testing.T) {
	t.Parallel()
	enq, _ := newStubEnqueuer(t, func(context.Context, sentCall) (string, error) { return stubReply, nil })
	_, err := enq.EnqueueAt(t.Context(), "a", time.Time{})
	assertRefused(t, err, []int{0})
	assert.EqualError(t, err, `job "a" is not stored: time of job "a" is the zero time: use Enqueue for at once`)
	_, err = enq.SourcedEnqueueAt(t.Context(), "a", 1, time.Time{})
	assertRefused(t, err, []int{0})
}

// badEnqueuers are arguments of NewEnqueuer that must be refused.
func badEnqueuers() []struct {
	title, dsn string
	opts       []EnqueuerOption
} {
	type bad = struct {
		title, dsn string
		opts       []EnqueuerOption
	}
	const dsn = "redis://localhost"
	pool := Redigo(&redis.Pool{Dial: func() (redis.Conn, error) { return nil, errors.New("never called") }})
	return []bad{
		{"Redis: none", "", nil},
		{"Redis: two", dsn, []EnqueuerOption{WithConnection(pool)}},
		{"Redis: a typo", "reddis://:geheim@localhost", nil},
		{"Redis: a nil pool", "", []EnqueuerOption{WithConnection(Redigo(nil))}},
		{"Redis: a pool that cannot dial", "", []EnqueuerOption{WithConnection(Redigo(&redis.Pool{}))}},
		{"option: nil", dsn, []EnqueuerOption{nil}},
		{"namespace: empty", dsn, []EnqueuerOption{Namespace("")}},
		{"namespace: braces", dsn, []EnqueuerOption{Namespace("{shop}")}},
		{"namespace: control character", dsn, []EnqueuerOption{Namespace("a\nb")}},
		{"namespace: too long", dsn, []EnqueuerOption{Namespace(strings.Repeat("a", 101))}},
		{"namespace: no UTF-8", dsn, []EnqueuerOption{Namespace("\xff")}},
		{"EnqueueTimeout: zero", dsn, []EnqueuerOption{EnqueueTimeout(0)}},
		{"EnqueueTimeout: negative", dsn, []EnqueuerOption{EnqueueTimeout(-1)}},
		{"MaxArgsSize: zero", dsn, []EnqueuerOption{MaxArgsSize(0)}},
		{"MaxArgsSize: too large", dsn, []EnqueuerOption{MaxArgsSize(1 << 30)}},
	}
}

func TestNewEnqueuerRefusesBadArguments(t *testing.T) {
	t.Parallel()
	for _, bad := range badEnqueuers() {
		t.Run(bad.title, func(t *testing.T) {
			t.Parallel()
			enq, err := NewEnqueuer(bad.dsn, bad.opts...)
			require.Error(t, err)
			assert.Nil(t, enq)
			assert.NotContains(t, err.Error(), "geheim")
		})
	}
}

// TestRefusalsReadWell keeps all sentences in one file, where they can be read.
func TestRefusalsReadWell(t *testing.T) {
	t.Parallel()
	enq, driver := newStubEnqueuer(t, func(context.Context, sentCall) (string, error) { return stubReply, nil })
	var text strings.Builder
	for _, bad := range badEntries() {
		_, err := enq.enqueue(t.Context(), bad.entry)
		fmt.Fprintf(&text, "%s\n\t%v\n", bad.title, err)
		_, asMany := enq.EnqueueMany(t.Context(), []Entry{bad.entry})
		assert.Equal(t, err, asMany, "one entry needs no number, and no other sentence")
	}
	for _, bad := range badEnqueuers() {
		_, err := NewEnqueuer(bad.dsn, bad.opts...)
		fmt.Fprintf(&text, "%s\n\t%v\n", bad.title, err)
	}
	assert.Empty(t, driver.sent())
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
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		for _, name := range []string{" ", "a:b", "{a}", "größe", "\u2028", strings.Repeat("x", 200), `"\`, "a b c", "*?[", "日本"} {
			receipt, err := b.With(ID(name)).Enqueue(t.Context(), name)
			require.NoError(t, err)
			assert.Equal(t, name, receipt.ID)
			jobs := b.fetch(t, name)
			require.Len(t, jobs, 1)
			r, err := decodeRecord(jobs[0].Record)
			require.NoError(t, err)
			assert.Equal(t, name, r.ID)
			assert.Equal(t, name, r.Name)
			b.complete(t, jobs)
		}
	})
}

func TestArgsOfTheLargestSizeAreStored(t *testing.T) {
	t.Parallel()
	onEachRedis(t, func(t *testing.T, b *enqueueBench) {
		_, err := b.Enqueue(t.Context(), "a", strings.Repeat("x", 996))
		require.NoError(t, err, "1,000 bytes with brackets and quotes")
		_, err = b.Enqueue(t.Context(), "a", strings.Repeat("x", 997))
		assert.EqualError(t, err, `job "a" is not stored: the JSON of the args of job "a" is 1001 bytes long: at most 1000 are allowed (MaxArgsSize): `+
			`pass a reference to what is large`)
		assert.Len(t, b.waiting(t, "a"), 1)
	}, MaxArgsSize(1000))
}

func FuzzArgs(f *testing.F) {
	f.Add("text", int64(1), 0.5, []byte("bytes"), true)
	f.Add("<\x80\u2028\"\\\n>", int64(math.MinInt64), math.MaxFloat64, []byte{}, false)
	f.Fuzz(func(t *testing.T, text string, n int64, fraction float64, bytes []byte, yes bool) {
		if math.IsNaN(fraction) || math.IsInf(fraction, 0) {
			return
		}
		args := []any{text, n, int(n), fraction, bytes, yes, nil, []any{text}}
		got, err := encodeArgs(nil, "a", args, 1<<20)
		require.NoError(t, err)
		assert.Equal(t, encodedByJSON(t, args), string(got))
	})
}
