package handler_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/handler"
)

var updateSignatures = flag.Bool("update-signatures", false, "write testdata/signatures.golden anew")

type (
	shopContext struct{ Tenant string }
	otherShop   struct{ Name string }
	shopError   struct{}
	shopTree    struct {
		Name     string
		Children []*shopTree
		Done     map[string][]chan int
	}
	shopBase   struct{ ID int }
	shopNested struct{ *hiddenBase }
	hiddenBase struct{ ID int }
	shopWriter struct {
		Name string
		Log  io.Writer
	}
)

func (*shopError) Error() string { return "shop" }

func (*otherShop) Create(id int64) error                                  { return nil }
func (otherShop) Rename(id int64) error                                   { return nil }
func (*otherShop) Log(ctx context.Context, job *Job, next NextFunc) error { return next(ctx) }

type nearMiss struct {
	name string
	fn   any
}

func nearMissesOfValues() []nearMiss {
	var none func(*Job) error
	fn := func(*Job) error { return nil }
	return []nearMiss{
		{"nil", nil},
		{"a nil function", none},
		{"a pointer to a function", &fn},
		{"a string", "create"},
		{"a struct", shopContext{}},
		{"an error value", &shopError{}},
	}
}

func nearMissesOfLead() []nearMiss {
	return []nearMiss{
		{"own by value", func(shopContext) error { return nil }},
		{"own pointer to pointer", func(**shopContext, *Job) error { return nil }},
		{"own behind ctx", func(context.Context, *shopContext) error { return nil }},
		{"own behind job", func(*Job, *shopContext) error { return nil }},
		{"own behind an argument", func(int, *shopContext) error { return nil }},
		{"own twice", func(*shopContext, *shopContext) error { return nil }},
		{"own as a tail", func(...*shopContext) error { return nil }},
		{"other context before ctx", func(*otherShop, context.Context, int) error { return nil }},
		{"other context before job", func(*otherShop, *Job) error { return nil }},
		{"method of another context", (*otherShop).Create},
		{"method of another context by value", otherShop.Rename},
		{"job before ctx", func(*Job, context.Context) error { return nil }},
		{"job before ctx with own", func(*shopContext, *Job, context.Context, int) error { return nil }},
		{"ctx behind an argument", func(int, context.Context) error { return nil }},
		{"ctx behind job and argument", func(*Job, int, context.Context) error { return nil }},
		{"ctx twice", func(context.Context, context.Context) error { return nil }},
		{"ctx twice, around job", func(context.Context, *Job, context.Context) error { return nil }},
		{"ctx pointer", func(*context.Context) error { return nil }},
		{"ctx as a tail", func(...context.Context) error { return nil }},
		{"job behind an argument", func(string, *Job) error { return nil }},
		{"job twice", func(*Job, *Job) error { return nil }},
		{"job by value", func(Job) error { return nil }},
		{"job pointer to pointer", func(**Job) error { return nil }},
		{"job as a tail", func(context.Context, ...*Job) error { return nil }},
		{"a middleware", func(ctx context.Context, job *Job, next NextFunc) error { return next(ctx) }},
		{"an http handler", func(http.ResponseWriter, *http.Request) error { return nil }},
	}
}

func nearMissesOfArguments() []nearMiss {
	return []nearMiss{
		{"chan", func(chan int) error { return nil }},
		{"func", func(int, func()) error { return nil }},
		{"complex64", func(complex64) error { return nil }},
		{"complex128", func(*Job, complex128) error { return nil }},
		{"unsafe pointer", func(unsafe.Pointer) error { return nil }},
		{"interface with methods", func(io.Reader) error { return nil }},
		{"error as an argument", func(error) error { return nil }},
		{"map with a struct key", func(map[shopBase]int) error { return nil }},
		{"map with a bool key", func(map[bool]int) error { return nil }},
		{"slice of chan", func([]chan int) error { return nil }},
		{"pointer to func", func(*func()) error { return nil }},
		{"tail of chan", func(...chan int) error { return nil }},
		{"field inside a recursive type", func(shopTree) error { return nil }},
		{"field of an interface", func([]*shopWriter) error { return nil }},
		{"embedded pointer to an unexported struct", func(shopNested) error { return nil }},
	}
}

func nearMissesOfReturns() []nearMiss {
	return []nearMiss{
		{"nothing", func(*Job) {}},
		{"three values", func() (int, int, error) { return 0, 0, nil }},
		{"only a result", func() int { return 0 }},
		{"only a concrete error", func() *shopError { return nil }},
		{"result and concrete error", func() (int, *shopError) { return 0, nil }},
		//lint:ignore ST1008 the mistake under test
		{"error first", func() (error, int) { return nil, 0 }},
		{"two errors", func() (error, error) { return nil, nil }},
		{"two results", func() (int, string) { return 0, "" }},
		{"a bool for the error", func() (int, bool) { return 0, true }},
		{"chan as the result", func() (<-chan int, error) { return nil, nil }},
		{"func as the result", func() (func(), error) { return nil, nil }},
		{"complex as the result", func() (complex128, error) { return 0, nil }},
		{"map with a struct key as the result", func() (map[shopBase]int, error) { return nil, nil }},
		{"field inside the result", func() (*shopTree, error) { return nil, nil }},
	}
}

func nearMissesOfMiddleware() []nearMiss {
	type next = NextFunc
	return []nearMiss{
		{"nil", nil},
		{"a number", 42},
		{"no parameters", func() error { return nil }},
		{"no next", func(context.Context, *Job) error { return nil }},
		{"no next with own", func(*shopContext, context.Context, *Job) error { return nil }},
		{"next of the same kind but another name",
			func(context.Context, *Job, func(context.Context) error) error { return nil }},
		{"next without ctx", func(context.Context, *Job, func() error) error { return nil }},
		{"next as a tail", func(context.Context, *Job, ...NextFunc) error { return nil }},
		{"no ctx", func(*Job, next) error { return nil }},
		{"no job", func(context.Context, next) error { return nil }},
		{"job before ctx", func(*Job, context.Context, next) error { return nil }},
		{"next first", func(next, context.Context, *Job) error { return nil }},
		{"next before job", func(context.Context, next, *Job) error { return nil }},
		{"own behind ctx", func(context.Context, *shopContext, *Job, next) error { return nil }},
		{"own twice", func(*shopContext, *shopContext, context.Context, *Job, next) error { return nil }},
		{"own by value", func(shopContext, context.Context, *Job, next) error { return nil }},
		{"own pointer to pointer", func(**shopContext, context.Context, *Job, next) error { return nil }},
		{"other context", func(*otherShop, context.Context, *Job, next) error { return nil }},
		{"method of another context", (*otherShop).Log},
		{"ctx pointer", func(*context.Context, *Job, next) error { return nil }},
		{"job by value", func(context.Context, Job, next) error { return nil }},
		{"job pointer to pointer", func(context.Context, **Job, next) error { return nil }},
		{"argument before next", func(context.Context, *Job, int, next) error { return nil }},
		{"argument behind next", func(context.Context, *Job, next, int) error { return nil }},
		{"arguments as a tail", func(context.Context, *Job, next, ...int) error { return nil }},
		{"returns nothing", func(context.Context, *Job, next) {}},
		{"returns two", func(context.Context, *Job, next) (int, error) { return 0, nil }},
		{"returns a bool", func(context.Context, *Job, next) bool { return false }},
		{"returns a concrete error", func(context.Context, *Job, next) *shopError { return nil }},
		{"wraps like net/http", func(next) NextFunc { return nil }},
	}
}

func nearMissesWithoutContext() []nearMiss {
	return []nearMiss{
		{"context before ctx", func(*shopContext, context.Context) error { return nil }},
		{"context before job", func(*shopContext, *Job, int) error { return nil }},
		{"method of a context", (*otherShop).Create},
		{"not a function", json.RawMessage(nil)},
	}
}

func TestEachNearMissHasItsOwnSentence(t *testing.T) {
	t.Parallel()
	own := newCompiler(t, &shopContext{})
	handlerOf := func(c *handler.Compiler) func(any) error {
		return func(fn any) error { _, err := c.Handler(fn); return err }
	}
	var all strings.Builder
	for _, group := range []struct {
		title   string
		compile func(any) error
		misses  []nearMiss
	}{
		{"no function", handlerOf(own), nearMissesOfValues()},
		{"first parameters", handlerOf(own), nearMissesOfLead()},
		{"arguments", handlerOf(own), nearMissesOfArguments()},
		{"returns", handlerOf(own), nearMissesOfReturns()},
		{"pool without a context", handlerOf(newCompiler(t, nil)), nearMissesWithoutContext()},
		{"middleware", func(fn any) error { _, err := own.Middleware(fn); return err },
			nearMissesOfMiddleware()},
		{"prototype", func(v any) error { _, err := handler.NewCompiler[*Job, NextFunc](v); return err }, []nearMiss{
			{"nil pointer", (*shopContext)(nil)}, {"map", map[string]int{}}, {"pointer to pointer", new(*shopContext)},
			{"function", func() {}},
		}},
	} {
		fmt.Fprintf(&all, "# %s\n", group.title)
		for _, miss := range group.misses {
			t.Run(group.title+"/"+miss.name, func(t *testing.T) {
				fmt.Fprintf(&all, "%s: %s\n", miss.name, sentenceOf(t, group.compile(miss.fn)))
			})
		}
	}
	compareSentences(t, all.String())
}

var (
	lineNumber  = regexp.MustCompile(`\.go:\d+\)`)
	closureName = regexp.MustCompile(`handler_test\.[\w.]*\.func\d+`)
)

// sentenceOf makes an error independent of where in this file its function stands, and of what the compiler inlined.
func sentenceOf(t *testing.T, err error) string {
	t.Helper()
	var refusal *handler.Refusal
	require.ErrorAs(t, err, &refusal)
	for part, text := range map[string]string{"Role": refusal.Role, "Function": refusal.Function,
		"Found": refusal.Found, "Wanted": refusal.Wanted, "Remedy": refusal.Remedy} {
		assert.NotEmpty(t, text, part)
	}
	text := refusal.Error()
	assert.NotContains(t, text, "\n")
	assert.False(t, strings.HasSuffix(text, "."), text)
	return closureName.ReplaceAllString(lineNumber.ReplaceAllString(text, ".go:LINE)"), "handler_test.funcN")
}

func compareSentences(t *testing.T, got string) {
	t.Helper()
	const golden = "testdata/signatures.golden"
	if *updateSignatures {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "run the test with -update-signatures when the new sentences are better")

	seen := map[string]string{}
	for line := range strings.Lines(got) {
		name, sentence, found := strings.Cut(line, ": ")
		if found {
			assert.Empty(t, seen[sentence], "%s reads like it", name)
			seen[sentence] = name
		}
	}
}
