package worktest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
)

type order struct {
	SKU string `json:"sku"`
	N   int64  `json:"n"`
}

var (
	midnight = time.Date(2031, 1, 2, 0, 0, 0, 0, time.UTC)
	forAnt   = work.Meta("tenant", "ant")
)

// enqueueSome enqueues what the tables below look for.
func enqueueSome(t *testing.T) *Redis {
	t.Helper()
	r := New(t)
	enq := r.Enqueuer(t).With(forAnt)
	ctx := t.Context()
	for _, err := range []error{
		second(enq.Enqueue(ctx, "mail", "ada", 1)),
		second(enq.Enqueue(ctx, "mail", "ada", 2)),
		second(enq.SourcedEnqueueIn(ctx, "order", 7, time.Hour, order{"x<y", 1234567890123456789}, []int{1, 2})),
		second(enq.With(work.ID("nightly"), work.Retries(3), work.Meta("day", "2")).EnqueueAt(ctx, "report", midnight)),
		second(enq.With(work.ID("nightly")).Enqueue(ctx, "report")),
		second(enq.With(work.Key("customer-7"), work.Weight(3)).Enqueue(ctx, "sync")),
	} {
		require.NoError(t, err)
	}
	_, err := enq.Enqueue(ctx, "")
	require.Error(t, err)
	_, err = enq.EnqueueMany(ctx, []work.Entry{{Name: "many"}, {Name: "many", Args: []any{nil}}})
	require.NoError(t, err)
	return r
}

func second(_ work.Receipt, err error) error { return err }

func TestWhatWasEnqueuedIsFound(t *testing.T) {
	t.Parallel()
	r := enqueueSome(t)
	assert.Len(t, r.Enqueued(), 8, "one of them a duplicate, and none that was refused")
	first := AssertEnqueued(t, r, "mail")
	assert.JSONEq(t, `["ada",1]`, string(first.Args))
	assert.Equal(t, map[string]string{"tenant": "ant"}, first.Settings.Meta)
	job, err := r.Inspector(t).Job(t.Context(), AssertEnqueued(t, r, "mail", "ada", 2).ID)
	require.NoError(t, err)
	assert.Equal(t, "mail", job.Name)
	AssertEnqueued(t, r, "mail", Any, 2)
	AssertEnqueued(t, r, "order", map[string]any{"n": int64(1234567890123456789), "sku": "x<y"}, Any)
	AssertEnqueued(t, r, "many", nil)
	AssertNotEnqueued(t, r, "sms")
	AssertNotEnqueued(t, r, "mail", "ada")
	AssertNotEnqueued(t, r, "mail", "ada", 3)
	AssertNotEnqueued(t, r, "order", order{"x<y", 1234567890123456788}, Any)
	for name, want := range map[string]Want{
		"a delay":        {Name: "order", In: time.Hour},
		"about a delay":  {Name: "order", In: time.Hour + time.Second, Within: time.Second},
		"a time":         {Name: "report", At: midnight},
		"about a time":   {Name: "report", At: midnight.Add(-time.Minute), Within: time.Minute},
		"a time as In":   {Name: "order", At: r.Now().Add(time.Hour), Within: patience},
		"a source":       {Name: "order", Source: 7},
		"options":        {Name: "report", Options: []work.EnqueueOption{work.ID("nightly"), work.Retries(3), forAnt}},
		"a key":          {Name: "sync", Options: []work.EnqueueOption{work.Key("customer-7"), work.Weight(3)}},
		"how many times": {Name: "mail", Times: 2},
		"no duplicate":   {Name: "report", Times: 1},
		"no args at all": {Name: "many", Args: []any{}, Times: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.NotEmpty(t, AssertWanted(t, r, want))
		})
	}
}

func TestWhatWasNotEnqueuedIsSaid(t *testing.T) {
	t.Parallel()
	r := enqueueSome(t)
	for name, row := range map[string]struct {
		want  Want
		texts []string
	}{
		"a name": {Want{Name: "sms"},
			[]string{`job "sms" was not enqueued. Enqueued were:`, "\n  1. mail [\"ada\",1], Meta tenant ant\n"}},
		"args": {Want{Name: "mail", Args: []any{"ada", Any, 3}},
			[]string{`job "mail" with args ["ada",(any),3] was not enqueued`,
				`1. mail ["ada",1], Meta tenant ant: its args differ`}},
		"a delay": {Want{Name: "order", In: 2 * time.Hour},
			[]string{`job "order" in 2h0m0s was not`,
				", in 1h0m0s, source 7, Meta tenant ant: In is 1h0m0s, not 2h0m0s"}},
		"a time": {Want{Name: "report", At: midnight.Add(1)},
			[]string{"at 2031-01-02T00:00:00.000000001Z was not",
				": it is due at 2031-01-02T00:00:00Z, not 2031-01-02T00:00:00.000000001Z"}},
		"a source": {Want{Name: "order", Source: 8},
			[]string{`job "order" with source 8 was not`, "Source is 7, not 8"}},
		"an option": {Want{Name: "report", Options: []work.EnqueueOption{work.Retries(4)}},
			[]string{`job "report", Retries 4 was not`, "Retries is 3, not 4"}},
		"no option": {Want{Name: "mail", Options: []work.EnqueueOption{work.Retries(0)}},
			[]string{"Retries is not given, not 0"}},
		"another's key": {Want{Name: "sync", Options: []work.EnqueueOption{work.Key("customer-8")}},
			[]string{"Key is customer-7, not customer-8"}},
		"another weight": {Want{Name: "sync", Options: []work.EnqueueOption{work.Key("customer-7"), work.Weight(2)}},
			[]string{"Weight is 3, not 2"}},
		"a key of meta": {Want{Name: "mail", Options: []work.EnqueueOption{work.Meta("tenant", "bee")}},
			[]string{"Meta tenant is ant, not bee"}},
		"a duplicate": {Want{Name: "report", Times: 2},
			[]string{"was enqueued once, not 2 times",
				"ID nightly, Meta tenant ant: it is a duplicate, and was not stored"}},
		"never": {Want{Name: "sms", Times: 1}, []string{`job "sms" was enqueued never, not once`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := failing(t, func(t testing.TB) { assert.Empty(t, AssertWanted(t, r, row.want)) })
			for _, want := range row.texts {
				assert.Contains(t, text, want)
			}
		})
	}
	assert.Contains(t, failing(t, func(t testing.TB) { assert.Zero(t, AssertEnqueued(t, r, "sms")) }),
		`job "sms" was not enqueued`)
	assert.Contains(t, failing(t, func(t testing.TB) { AssertNotEnqueued(t, r, "mail", "ada", 2) }),
		`job "mail" with args ["ada",2] should not have been enqueued`)
	assert.Contains(t, failing(t, func(t testing.TB) { AssertNoneEnqueued(t, r) }),
		"nothing should have been enqueued. Enqueued were:\n  1. mail")
	assert.Contains(t, failing(t, func(t testing.TB) { AssertEnqueued(t, NewRecorder(), "a") }),
		"Nothing was enqueued: does the code under test use")
	assert.Contains(t, failing(t, func(t testing.TB) { AssertEnqueued(t, r, "mail", func() {}) }), "(does not encode: ")
}

func TestALongListEndsWithTheLast(t *testing.T) {
	t.Parallel()
	r := New(t)
	entries := make([]work.Entry, 25)
	for i := range entries {
		entries[i] = work.Entry{Name: fmt.Sprint("job ", i)}
	}
	_, err := r.Enqueuer(t).EnqueueMany(t.Context(), entries)
	require.NoError(t, err)
	text := failing(t, func(t testing.TB) { AssertEnqueued(t, r, "a") })
	assert.Contains(t, text, "\n  (5 more before these)\n  6. job 5 []\n")
	assert.True(t, strings.HasSuffix(text, "\n  25. job 24 []"), text)
}

func TestARecorderGoesAroundAnyEnqueuer(t *testing.T) {
	t.Parallel()
	recorder := NewRecorder()
	tagged := func(ctx context.Context, entries []work.Entry, next work.EnqueueFunc) error {
		entries[0].Options = append(entries[0].Options, work.Tags("from middleware"))
		_, err := next(ctx, entries)
		return err
	}
	enq, err := work.NewEnqueuer(New(t).DSN(), work.WithEnqueueMiddleware(tagged, recorder.Record))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, enq.Close()) })
	_, err = enq.Enqueue(t.Context(), "a")
	require.NoError(t, err)
	AssertWanted(t, recorder, Want{Name: "a", Options: []work.EnqueueOption{work.Tags("from middleware")}})
	recorder.Forget()
	AssertNoneEnqueued(t, recorder)

	unreachable, err := work.NewEnqueuer("redis://127.0.0.1:1/0", work.EnqueueTimeout(time.Millisecond),
		work.WithEnqueueMiddleware(recorder.Record))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, unreachable.Close()) })
	_, err = unreachable.Enqueue(t.Context(), "a")
	require.Error(t, err)
	AssertNoneEnqueued(t, recorder)
}
