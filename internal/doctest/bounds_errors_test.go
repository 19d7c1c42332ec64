package doctest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/handler"
	"github.com/265d0351/work/internal/intake"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/joblog"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/objects"
)

// The bounds of what anybody has to read.
const (
	longestError = 8 << 10
	longestLine  = 40 << 10 // of the log: a stack, an error, and who it was
)

// huge is what an error may be about at the worst.
var (
	huge      = strings.Repeat("a text without an end, ", 256<<10/23)
	hugeNames = func() []string {
		names := make([]string, 10_000)
		for i := range names {
			names[i] = fmt.Sprintf("%0200d", i)
		}
		return names
	}()
)

// selfError is its own cause.
type selfError struct{ text string }

func (e *selfError) Error() string { return e.text }

func (e *selfError) Unwrap() error { return e }

// endlessType is what an error is whose chain has no end.
var endlessType = reflect.TypeOf(errchain.Tame(&selfError{})).Elem()

// exempt are made of what is bounded already.
var exempt = []string{"long", "nextMisuse", "unknownFieldError"}

// declared are the types of a package that have a method.
func declared(t *testing.T, dir, method string) (names []string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			f, is := decl.(*ast.FuncDecl)
			if !is || f.Recv == nil || f.Name.Name != method {
				continue
			}
			of := f.Recv.List[0].Type
			if star, is := of.(*ast.StarExpr); is {
				of = star.X
			}
			names = append(names, of.(*ast.Ident).Name)
		}
	}
	slices.Sort(names)
	return names
}

func TestEveryErrorTypeIsKnown(t *testing.T) {
	t.Parallel()
	for dir, types := range errorTypes() {
		var names []string
		for _, one := range types {
			names = append(names, reflect.TypeOf(one).Name())
		}
		slices.Sort(names)
		found := slices.DeleteFunc(declared(t, dir, "Error"),
			func(name string) bool { return slices.Contains(exempt, name) })
		assert.Equal(t, found, names, "the error types of %s", dir)
	}
}

// fill makes all that can be long in a value as long as can be.
func fill(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 4 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(huge)
	case reflect.Slice:
		n := 200
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(huge))
			return
		}
		list := reflect.MakeSlice(v.Type(), n, n)
		fill(list.Index(0), depth+1)
		for i := 1; i < n; i++ {
			list.Index(i).Set(list.Index(0))
		}
		v.Set(list)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	case reflect.Interface:
		for _, value := range []any{errors.New(huge), []any{[]byte(huge), []any{[]byte(huge)}, huge}} {
			if reflect.TypeOf(value).AssignableTo(v.Type()) {
				v.Set(reflect.ValueOf(value))
				return
			}
		}
	}
}

// allEvents are one of each event. TestEventsAreBounded finds those that are missing.
func allEvents() []event.Event {
	return []event.Event{
		event.WorkerStarted{}, event.WorkerStopped{}, event.PoolIdle{}, event.PartitionJoined{}, event.PartitionLeft{},
		event.WorkerTold{}, event.LimitChanged{},
		event.WorkerFenced{},
		event.DataLost{}, event.JobStarted{},
		event.JobCheckedIn{}, event.JobDone{},
		event.JobFailed{}, event.JobBuried{}, event.JobDiscarded{}, event.JobSnoozed{}, event.JobReleased{},
		event.StepDone{}, event.WaitIgnored{},
		event.JobStuck{}, event.ClaimGone{}, event.JobsFetched{}, event.BatchEnded{},
		event.JobsSettled{},
		event.HistoryTold{}, event.OutcomeUnknown{}, event.WorkerCutOff{}, event.JobsDropped{}, event.KeyBroken{},
		event.WorkerReaped{}, event.JobsReturned{},
		event.JobTrimmed{}, event.QueueDestroyed{}, event.FlowStored{}, event.FlowEnded{}, event.FlowReopened{},
		event.PeriodicEnqueued{}, event.PeriodicMissed{}, event.PeriodicSkipped{},
		event.PeriodicChanged{}, event.PeriodicRemoved{}, event.PeriodicBroken{}, event.ServerUnfit{}, event.Trouble{},
		event.TroubleOver{}, event.LoopPanicked{},
		event.JobCancelled{},
		event.JobExpired{}, event.DeathHookFailed{},
	}
}

// TestErrorsAreJoinedByOneMeans: a list of errors may have any length, and errors.Join names all of them.
func TestErrorsAreJoinedByOneMeans(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{".", "internal/rdb", "internal/redisconn", "internal/handler",
		"internal/eventlog", "internal/invalid"} {
		files, err := fs.Glob(os.DirFS(dir), "*.go")
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(dir, file))
			require.NoError(t, err)
			if !strings.HasSuffix(file, "_test.go") {
				rest := strings.ReplaceAll(string(text), `"join them with errors.Join"`, "")
				assert.NotContains(t, rest, "errors.Join", "%s: use excerpt.Join", filepath.Join(dir, file))
			}
		}
	}
}

// longHome is a home of objects that answers with long errors.
type longHome struct{ objects.Home }

func (longHome) Put(context.Context, objects.Hash, []byte) error { return errors.New(huge) }

// TestWhatIsAskedForInVainIsToldInShort has everything refused that can be, because of what is far too long.
func TestWhatIsAskedForInVainIsToldInShort(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		enq := k.Enq
		ended, end := context.WithCancelCause(context.Background())
		end(errors.New(huge))
		pool := func(opts work.WorkerOptions) *work.WorkerPool {
			opts.Redis, opts.Namespace, opts.Logger = k.Server.DSN(), k.Namespace, pooltest.Silent()
			return work.NewWorkerPool(nil, 1, opts)
		}
		named := func(n int, only ...string) *work.WorkerPool {
			p := pool(work.WorkerOptions{Only: only})
			for _, name := range hugeNames[:n] {
				p.Job(name, func() error { return nil })
			}
			return p
		}
		running := k.Start(named(10))
		only := func(err error, _ ...any) error { return err }
		last := func(values ...any) error { err, _ := values[len(values)-1].(error); return err }
		for name, err := range map[string]error{
			"a DSN": last(work.NewEnqueuer("redis://localhost:6379/" + huge)),
			"a DSN's option": last(work.NewEnqueuer("redis://localhost:6379/?pool_size=" +
				strings.Repeat("9", 1<<20))),
			"a namespace":          last(work.NewEnqueuer(k.Server.DSN(), work.Namespace(huge))),
			"a name":               last(enq.Enqueue(k.Ctx(), huge)),
			"an id":                last(enq.With(work.ID(huge)).Enqueue(k.Ctx(), "a")),
			"a tag":                last(enq.With(work.Tags(huge)).Enqueue(k.Ctx(), "a")),
			"many tags":            last(enq.With(work.Tags(hugeNames...)).Enqueue(k.Ctx(), "a")),
			"an argument":          last(enq.Enqueue(k.Ctx(), "a", func() {}, huge)),
			"a marshaller":         last(enq.Enqueue(k.Ctx(), "a", longMarshaller{})),
			"a marshaller's panic": last(enq.Enqueue(k.Ctx(), "a", longMarshaller{panics: true})),
			"an ended ctx":         last(enq.Enqueue(ended, "a")),
			"names not registered": only(running.Serve(k.Ctx(), hugeNames...)),
			"names not withdrawn":  only(running.Withdraw(k.Ctx(), hugeNames...)),
			"a wish not fulfilled": only(func() error { // no worker can tell a Redis that does not answer
				proxy := redistest.NewProxy(t, s.Addr())
				opts := work.WorkerOptions{Redis: proxy.DSN(), Namespace: k.Namespace, Logger: pooltest.Silent()}
				opts.Only = hugeNames[:1]
				p := work.NewWorkerPool(nil, 1, opts)
				for _, name := range hugeNames[:10] {
					p.Job(name, func() error { return nil })
				}
				k.Start(p)
				proxy.Pause()
				defer proxy.Resume()
				return p.Serve(ended, hugeNames[:10]...)
			}()),
			"a drain cut off":        only(running.Drain(ended)),
			"names of Only":          only(named(1_000, hugeNames[5_000:]...).Start(k.Ctx())),
			"jobs registered twice":  only(registeredTwice(named(1_000), hugeNames[:1_000]).Start(k.Ctx())),
			"schedules of no job":    only(periodicsOfNoJob(named(1_000)).Start(k.Ctx())),
			"a start that is late":   only(named(10).Start(ended)),
			"a home of objects":      last(longHomed(t, k).Enqueue(k.Ctx(), "a", strings.Repeat("x", 64<<10))),
			"a middleware's refusal": last(refusing(t, k).Enqueue(k.Ctx(), "a")),
		} {
			if assert.Error(t, err, name) {
				assert.LessOrEqual(t, len(err.Error()), longestError, "%s: %.100s", name, err.Error())
			}
		}
	})
}

type longMarshaller struct{ panics bool }

func (m longMarshaller) MarshalJSON() ([]byte, error) {
	if m.panics {
		panic(huge)
	}
	return nil, errors.New(huge)
}

func registeredTwice(p *work.WorkerPool, names []string) *work.WorkerPool {
	for _, name := range names {
		p.Job(name, func() error { return nil })
	}
	return p
}

func periodicsOfNoJob(p *work.WorkerPool) *work.WorkerPool {
	for _, name := range hugeNames[5_000:6_000] {
		p.Periodic("@daily", name)
	}
	return p
}

func longHomed(t *testing.T, k *kit) *work.Enqueuer {
	enq, err := work.NewEnqueuer(k.Server.DSN(), work.Namespace(k.Namespace+"-home"), work.ObjectHome(longHome{}),
		work.LargeArgs(1<<10))
	require.NoError(t, err)
	t.Cleanup(func() { _ = enq.Close() })
	return enq
}

func refusing(t *testing.T, k *kit) *work.Enqueuer {
	enq, err := work.NewEnqueuer(k.Server.DSN(), work.Namespace(k.Namespace), work.WithEnqueueMiddleware(
		func(context.Context, []work.Entry, work.EnqueueFunc) error { return errors.New(huge) }))
	require.NoError(t, err)
	t.Cleanup(func() { _ = enq.Close() })
	return enq
}

// TestLongErrorsOfHandlersAndOfRedisAreToldInShort runs jobs whose errors have megabytes, and a Redis that answers with
// as much.
func TestLongErrorsOfHandlersAndOfRedisAreToldInShort(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, s)
		var log pooltest.LockedBuffer
		opts := k.Options()
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		once := work.JobOptions{Retries: -1}
		pool := work.NewWorkerPool(nil, 4, opts).
			JobWithOptions("fails", once, func() error { return errors.New(huge) }).
			JobWithOptions("buries", once, func() error { return work.Bury(errors.New(huge)) }).
			JobWithOptions("discards", once, func() error { return work.Discard(errors.New(huge)) }).
			JobWithOptions("panics", once, func() error { panic(huge) }).
			JobWithOptions("retries", work.JobOptions{},
				func() error { return work.RetryIn(time.Hour, errors.New(huge)) }).
			Middleware(func(ctx context.Context, _ *work.Job, next work.NextFunc) error { return next(ctx) })
		d := k.TamperWith(pool, &pooltest.Tampered{Tamper: func(
			ctx context.Context, pass pooltest.Send, calls []redisconn.Call,
		) ([]redisconn.Reply, error) {
			if pooltest.NameOf(calls[0]) == "list_overdue" { // the reaper's look
				return nil, &redisconn.ServerError{Code: "ERR", Message: huge}
			}
			return pass(ctx, calls...)
		}})
		k.Start(pool)
		for _, name := range []string{"fails", "buries", "discards", "panics", "retries"} {
			k.Enqueue(name)
		}
		k.Drained(pool)
		pooltest.Await[event.Trouble](t, k.Spy, nil)
		d.UntilSent(t, "beat", 1)
		events, _ := k.Spy.All()
		for _, e := range events {
			value := reflect.ValueOf(e)
			for i := range value.NumField() {
				if err, is := value.Field(i).Interface().(error); is {
					assert.LessOrEqual(t, len(err.Error()), longestError, "%T", e)
				}
			}
		}
		require.NotEmpty(t, pooltest.Seen[event.JobBuried](k.Spy))
		for line := range strings.Lines(log.String()) {
			assert.LessOrEqual(t, len(line), longestLine, "%.200s", line)
		}
	})
}

// errorTypes are all errors that this module has types for, but for those of commands. TestEveryErrorTypeIsKnown finds
// those that are missing.
func errorTypes() map[string][]any {
	return map[string][]any{
		".": {
			work.JobFailedError{}, work.InvalidError{}, work.EnqueueError{}, work.UnhealthyError{}, work.ResultError{},
			work.DuplicateError{}, work.LimitError{},
			work.CancelError{}, reflect.ValueOf(work.Bury(nil)).Elem().Interface(), work.SignatureError{},
			work.ArgumentError{},
			work.PanicError{}, work.GoexitError{}, work.SetupError{},
			work.StopError{}, work.NoResultError{}, work.ClaimGoneError{},
			work.CodecError{}, work.ObjectError{}, work.ReplicasError{},
			work.TimeoutError{}, work.PartitionError{}, work.StepError{}, work.WaitingError{}, work.NoMessageError{},
			work.MessageError{},
		},
		"internal/rdb": {rdb.RuleError{}, rdb.OutdatedError{}, rdb.RouteError{}},
		"internal/redisconn": {
			redisconn.UnexpectedReplyError{}, redisconn.ServerError{}, redisconn.DialError{}, redisconn.LostError{},
			redisconn.WrongServerError{},
		},
		"internal/invalid":  {invalid.Error{}},
		"internal/errchain": {reflect.Zero(endlessType).Interface()},
		"internal/handler":  {handler.Refusal{}, handler.ArgumentError{}},
		"internal/joblog":   {joblog.LongLineError{}},
		"internal/excerpt":  {excerpt.Errors{}},
		"internal/intake":   {intake.TimeoutError{}},
		"objects": {
			objects.VanishedError{}, objects.MismatchError{}, objects.TooLargeError{}, objects.UnboundError{},
			objects.OptionError{},
			objects.HashError{},
		},
	}
}

func TestTextsOfErrorsAreBoundedWhateverTheyAreAbout(t *testing.T) {
	t.Parallel()
	for dir, types := range errorTypes() {
		for _, one := range types {
			kind := reflect.TypeOf(one)
			t.Run(filepath.Join(dir, kind.Name()), func(t *testing.T) {
				filled := reflect.New(kind)
				fill(filled.Elem(), 0)
				err, is := filled.Interface().(error)
				require.True(t, is)
				switch kind { // whose fields are their own
				case reflect.TypeOf(work.Bury(nil)).Elem():
					err = work.Bury(fmt.Errorf("%w", errors.New(huge)))
				case endlessType:
					err = errchain.Tame(&selfError{huge})
				}
				assert.NotEmpty(t, err.Error())
				assert.LessOrEqual(t, len(err.Error()), longestError)
			})
		}
	}
}

// TestEventsAreBounded fills each event with what is longest, and looks at what observers and the log get.
func TestEventsAreBounded(t *testing.T) {
	t.Parallel()
	var names []string
	for _, e := range allEvents() {
		names = append(names, reflect.TypeOf(e).Name())
	}
	slices.Sort(names)
	assert.Equal(t, declared(t, "event", "event"), names)
	for _, e := range allEvents() {
		t.Run(reflect.TypeOf(e).Name(), func(t *testing.T) {
			filled := reflect.New(reflect.TypeOf(e))
			fill(filled.Elem(), 0)
			var log bytes.Buffer
			observer := pooltest.NewSpy()
			emitTo(&log, observer)(filled.Elem().Interface().(event.Event))
			assert.LessOrEqual(t, log.Len(), longestLine)
			got, _ := observer.All()
			seen := reflect.ValueOf(got[0])
			for i := range seen.NumField() {
				switch field := seen.Field(i).Interface().(type) {
				case error:
					assert.LessOrEqual(t, len(field.Error()), longestError)
				case string:
					if name := seen.Type().Field(i).Name; name == "Stack" || name == "Reason" {
						assert.LessOrEqual(t, len(field), 2*longestError)
					}
				}
			}
		})
	}
}
