package outcomes_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// secret stands in args that do not fit. It is of digits, so that it can be a number, a part of a string, and a key.
const secret = "4111222233334444"

// quoting is a type whose own errors quote what they got.
type quoting struct{ N int }

func (*quoting) UnmarshalJSON(b []byte) error { return fmt.Errorf("no %s here", b) }
func (quoting) MarshalJSON() ([]byte, error)  { return nil, errors.New("no " + secret + " here") }

// quotingText is the same for the other kind of methods.
type quotingText struct{ N int }

func (*quotingText) UnmarshalText(b []byte) error { return fmt.Errorf("no %s here", b) }

type secretOrder struct {
	Card struct{ Number int8 }
	N    int `json:",string"`
	By   map[string]int8
}

// misfits are args with the secret in them, each of a kind that its handler refuses, whoever finds out and however they
// say so.
var misfits = map[string]struct {
	handler any
	args    string
}{
	"a large number":           {func(int8) error { return nil }, `[` + secret + `]`},
	"a string for a number":    {func(int) error { return nil }, `["` + secret + `"]`},
	"for a bool":               {func(bool) error { return nil }, `["` + secret + `"]`},
	"for a float":              {func(float32) error { return nil }, `[` + secret + `e300]`},
	"an object for a string":   {func(string) error { return nil }, `[{"` + secret + `":1}]`},
	"for a time":               {func(time.Time) error { return nil }, `["` + secret + `"]`},
	"for a duration":           {func(time.Duration) error { return nil }, `["` + secret + `"]`},
	"for bytes":                {func([]byte) error { return nil }, `["` + secret + `?"]`},
	"for a json.Number":        {func(json.Number) error { return nil }, `["x` + secret + `"]`},
	"for a big.Int":            {func(*big.Int) error { return nil }, `["` + secret + `x"]`},
	"a key of a map":           {func(map[int]int) error { return nil }, `[{"x` + secret + `":1}]`},
	"a value of a map":         {func(map[string]int8) error { return nil }, `[{"` + secret + `":1000}]`},
	"a field":                  {func(secretOrder) error { return nil }, `[{"Card":{"Number":` + secret + `}}]`},
	"a field as a string":      {func(secretOrder) error { return nil }, `[{"N":"x` + secret + `"}]`},
	"a map in a struct":        {func(*secretOrder) error { return nil }, `[{"By":{"` + secret + `":` + secret + `}}]`},
	"an UnmarshalJSON":         {func(quoting) error { return nil }, `["` + secret + `"]`},
	"an UnmarshalJSON within":  {func([]*quoting) error { return nil }, `[["` + secret + `"]]`},
	"an UnmarshalText":         {func(quotingText) error { return nil }, `["` + secret + `"]`},
	"an address":               {func(netip.Addr) error { return nil }, `["` + secret + `"]`},
	"a reference":              {func(objects.Ref[int]) error { return nil }, `[{"object":"` + secret + `","size":1}]`},
	"an array":                 {func([2]int8) error { return nil }, `[[1,` + secret + `]]`},
	"in the tail":              {func(string, ...int8) error { return nil }, `["a",1,` + secret + `]`},
	"too many":                 {func(int) error { return nil }, `[1,` + secret + `]`},
	"too few":                  {func(int, int) error { return nil }, `[` + secret + `]`},
	"an object for the list":   {func(int) error { return nil }, `{"` + secret + `":1}`},
	"a string for the list":    {func(int) error { return nil }, `"` + secret + `"`},
	"a number for the list":    {func(int) error { return nil }, secret},
	"a broken list":            {func(int, string) error { return nil }, `[` + secret + `,"` + secret + `]`},
	"a broken element":         {func(int) error { return nil }, `[{"` + secret + `"}]`},
	"something behind it":      {func(int) error { return nil }, `[1]` + secret},
	"something that is a word": {func(int) error { return nil }, `[x` + secret + `]`},
}

// misfitRecord is one with the args of a misfit, as another program might write it.
func misfitRecord(id, name, args string) string {
	return fmt.Sprintf(`{"jid":%q,"name":%q,"args":%s,"t":1}`, id, name, args)
}

// lines is a log that can be read.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Whatever the args are, and whoever finds that they do not fit: no error has them, in Redis, in events, in the log, in
// hooks, or where an inspector or the doctor looks. Only the record has.
func TestNoErrorTellsArgs(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		log, deaths := &lines{}, &lines{}
		options := k.Options()
		options.Logger = slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		pool := work.NewWorkerPool(nil, 4, options)
		for name, misfit := range misfits {
			pool.JobWithOptions(name, work.JobOptions{OnDeath: func(_ context.Context, _ *work.Job,
				err error) {
				fmt.Fprint(deaths, err)
			}}, misfit.handler)
			k.Store(name, "of "+name, misfitRecord("of "+name, name, misfit.args))
		}
		k.Start(pool)
		for name := range misfits {
			buried := pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried]("of "+name))
			for err := buried.Err; err != nil; err = errors.Unwrap(err) {
				assert.NotContains(t, err.Error(), secret, name)
			}
			if wrong := errchain.Find[*work.ArgumentError](buried.Err); wrong != nil {
				assert.Contains(t, wrong.Excerpt(), secret, "who asks for it gets it")
			}
		}
		k.Drained(pool)
		events, _ := k.Spy.All()
		assert.NotContains(t, fmt.Sprintf("%+v", events), secret)
		assert.NotEmpty(t, log.String())
		assert.NotContains(t, log.String(), secret)
		assert.NotEmpty(t, deaths.String())
		assert.NotContains(t, deaths.String(), secret)
		for key, text := range k.everything() {
			if key != "jobs" {
				assert.NotContains(t, text, secret, key)
			}
		}
		k.inspectMisfits()
	})
}

// inspectMisfits looks at what there is to be seen of them beside the args.
func (k *kit) inspectMisfits() {
	k.T.Helper()
	var ids []string
	for name := range misfits {
		ids = append(ids, "of "+name)
	}
	told, err := k.ByHand().Told(k.Ctx(), ids...)
	require.NoError(k.T, err)
	assert.NotContains(k.T, told, secret)
}

// Who enqueues may log what went wrong, so that these errors tell nothing either.
func TestNoErrorOfAnEnqueueTellsArgs(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	pool := work.NewWorkerPool(nil, 1, k.Options()).Job("large", func(int8) error { return nil })
	for name, misfit := range misfits {
		pool.Job(name, misfit.handler)
	}
	enq := pool.Enqueuer()
	var args []json.RawMessage
	refused := 0
	for name, misfit := range misfits {
		if json.Unmarshal([]byte(misfit.args), &args) != nil {
			continue
		}
		values := make([]any, len(args))
		for i := range args {
			values[i] = args[i]
		}
		_, err := enq.Enqueue(k.Ctx(), name, values...)
		require.Error(t, err, name)
		assertSilent(t, err)
		refused++
	}
	assert.Greater(t, refused, 20)
	for name, arg := range map[string]any{
		"broken JSON":       json.RawMessage(`{"` + secret + `"`),
		"a MarshalJSON":     quoting{},
		"a panic":           panickingCard{},
		"a value":           map[string]any{secret: func() {}},
		"broken JSON, deep": map[string]any{"a": []any{json.RawMessage(secret + "x")}},
	} {
		_, err := k.Enq.Enqueue(k.Ctx(), "large", arg)
		require.Error(t, err, name)
		assertSilent(t, err)
		assertSilent(t, work.NewWorkerPool(nil, 1, k.Options()).Periodic("@daily", "large", arg).Start(k.Ctx()))
		inspector := k.ByHand()
		assertSilent(t, inspector.AddSchedule(k.Ctx(), "@daily", "large", work.PeriodicOptions{ID: "x"}, arg))
		assertSilent(t, inspector.ChangeArgs(k.Ctx(), "x", arg))
	}
	for _, options := range []work.UniqueOptions{{Key: secret + strings.Repeat("x", 200)},
		{Key: secret, Args: []int{1}}} {
		_, err := k.Enq.With(work.Unique(options)).Enqueue(k.Ctx(), "large", 1)
		assertSilent(t, err)
	}
}

type panickingCard struct{}

func (panickingCard) MarshalJSON() ([]byte, error) { panic(secret) }

// assertSilent wants an error that does not have the secret, nor any of those that it is made of.
func assertSilent(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for ; err != nil; err = errors.Unwrap(err) {
		assert.NotContains(t, err.Error(), secret)
	}
}

// An argument that is an object is decoded by the handler itself, which returns the error.
func TestNoErrorOfAnObjectTellsIt(t *testing.T) {
	t.Parallel()
	k := newKit(t, redistest.Embedded(t))
	store, err := objects.New(pooltest.StoreOf(k.Enq), objects.Options{})
	require.NoError(t, err)
	ref, err := objects.Share(k.Ctx(), store, map[string]any{"card": json.Number(secret)})
	require.NoError(t, err)
	k.EnqueueAs("shared", "card", ref)
	pool := work.NewWorkerPool(nil, 1, k.Options()).
		JobWithOptions("card", work.JobOptions{Retries: -1},
			func(ctx context.Context, card objects.Ref[map[string]int8]) error {
				_, err := card.Value(ctx)
				return err
			})
	k.Start(pool)
	assertSilent(t, pooltest.Await(t, k.Spy, pooltest.OfJob[event.JobBuried]("shared")).Err)
	_, err = objects.Share(k.Ctx(), store, quoting{})
	assertSilent(t, err)
}

// everything is all that the namespace has in Redis, by key.
func (k *kit) everything() map[string]string {
	k.T.Helper()
	conn, err := redis.Dial("tcp", k.Server.Addr())
	require.NoError(k.T, err)
	defer conn.Close()
	prefix := "{" + k.Namespace + "}:"
	keys, err := redis.Strings(conn.Do("KEYS", prefix+"*"))
	require.NoError(k.T, err)
	all := map[string]string{}
	for _, key := range keys {
		kind, err := redis.String(conn.Do("TYPE", key))
		require.NoError(k.T, err)
		read := map[string][]any{
			"hash": {"HGETALL", key}, "list": {"LRANGE", key, 0, -1}, "set": {"SMEMBERS", key},
			"zset": {"ZRANGE", key, 0, -1}, "string": {"GET", key},
		}[kind]
		if read == nil {
			continue // it has just gone
		}
		value, err := conn.Do(read[0].(string), read[1:]...)
		require.NoError(k.T, err)
		all[strings.TrimPrefix(key, prefix)] = fmt.Sprintf("%s", value)
	}
	return all
}
