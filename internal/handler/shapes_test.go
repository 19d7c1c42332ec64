package handler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/handler"
)

// The shapes: every combination of optional first parameters, argument lists and returns, built with reflect.FuncOf,
// compiled, and run. The lists carry, beside the type, what is enqueued and what must arrive.

type shapeContext struct{ Tenant string }

// lead says which of the optional first parameters a function takes, always in this order: *C, context.Context, *Job.
type lead struct{ own, ctx, job bool }

func (l lead) count() int { return len(leadTypes(l)) }

type shapeOrder struct {
	ID    int64
	Items []string
}

type shapeArgs struct {
	name     string
	json     string
	want     []any // one value per parameter; for a variadic one the slice
	variadic bool
}

func shapeArgLists() []shapeArgs {
	count := 7
	return []shapeArgs{
		{name: "no arguments", json: `[]`},
		{name: "null list", json: `null`},
		{name: "int64", json: `[9007199254740993]`, want: []any{int64(9007199254740993)}},
		{name: "scalars", json: ` [ 1, "a\"b" ,true, 2.5e0,255]`, want: []any{1, `a"b`, true, 2.5, uint8(255)}},
		{name: "struct and pointer", json: `[{"ID":1,"Items":["x"],"later":1},{"ID":2}]`,
			want: []any{shapeOrder{ID: 1, Items: []string{"x"}}, &shapeOrder{ID: 2}}},
		{name: "nil pointer and pointer", json: `[null,7]`, want: []any{(*shapeOrder)(nil), &count}},
		{name: "collections", json: `[[],{"a":[1]},[1,2]]`,
			want: []any{[]string{}, map[string][]int{"a": {1}}, [2]int{1, 2}}},
		{name: "raw", json: `[{"a": 1.0}]`, want: []any{json.RawMessage(`{"a": 1.0}`)}},
		{name: "empty tail", json: `["a"]`, want: []any{"a", []int64(nil)}, variadic: true},
		{name: "tail of one", json: `[3]`, want: []any{[]int64{3}}, variadic: true},
		{name: "tail", json: `["a",1,2,3]`, want: []any{"a", []int64{1, 2, 3}}, variadic: true},
		{name: "tail of structs", json: `[{"ID":1},{"ID":2}]`, want: []any{[]shapeOrder{{ID: 1}, {ID: 2}}},
			variadic: true},
	}
}

type shapeReturn struct {
	name      string
	out       []reflect.Type
	values    []any
	hasResult bool
	err       error
}

var errShape = errors.New("the shape's own failure")

func shapeReturns() []shapeReturn {
	order, fail := reflect.TypeFor[*shapeOrder](), reflect.TypeFor[error]()
	return []shapeReturn{
		{name: "nil", out: []reflect.Type{fail}, values: []any{nil}},
		{name: "error", out: []reflect.Type{fail}, values: []any{errShape}, err: errShape},
		{name: "result", out: []reflect.Type{order, fail}, values: []any{&shapeOrder{ID: 3}, nil}, hasResult: true},
		{name: "int result", out: []reflect.Type{reflect.TypeFor[int](), fail}, values: []any{5, nil}, hasResult: true},
		{name: "interface result", out: []reflect.Type{reflect.TypeFor[any](), fail}, values: []any{nil, nil},
			hasResult: true},
		{name: "result and error", out: []reflect.Type{order, fail}, values: []any{&shapeOrder{ID: 3}, errShape},
			err: errShape},
	}
}

func TestHandlerTakesEveryLegalShape(t *testing.T) {
	t.Parallel()
	for _, l := range []lead{
		{}, {own: true}, {ctx: true}, {job: true}, {own: true, ctx: true}, {own: true, job: true},
		{ctx: true, job: true},
		{own: true, ctx: true, job: true},
	} {
		for _, args := range shapeArgLists() {
			for _, returns := range shapeReturns() {
				t.Run(fmt.Sprintf("%+v/%s/%s", l, args.name, returns.name), func(t *testing.T) {
					t.Parallel()
					runShape(t, l, args, returns)
				})
			}
		}
	}
}

func runShape(t *testing.T, l lead, args shapeArgs, returns shapeReturn) {
	var arrived []any
	fn := reflect.MakeFunc(shapeType(l, args, returns), func(in []reflect.Value) []reflect.Value {
		for _, v := range in {
			arrived = append(arrived, v.Interface())
		}
		return shapeValues(returns)
	})
	h, c := compiled(t, shapeContext{Tenant: "acme"}, fn.Interface())
	require.NoError(t, h.CheckArgs([]byte(args.json), panicked))
	require.Nil(t, arrived, "CheckArgs calls nothing")

	ctx, own, job := t.Context(), c.UserContext(), &Job{ID: "j1", Args: json.RawMessage(args.json)}
	for range 2 { // the second run uses the frame of the first
		arrived = nil
		result, hasResult, err := h.Run(ctx, handler.Call{Own: own, Job: job, Args: job.Args})
		require.ErrorIs(t, err, returns.err)
		require.Equal(t, returns.hasResult, hasResult)
		if hasResult {
			require.Equal(t, returns.values[0], result)
		}
		assertArrived(t, arrived, l, ctx, own, job, args.want)
	}
}

func assertArrived(t *testing.T, arrived []any, l lead, ctx context.Context, own handler.UserContext, job *Job,
	args []any) {
	t.Helper()
	require.Len(t, arrived, l.count()+len(args))
	if l.own {
		assert.Same(t, own.Value(), arrived[0])
		assert.Equal(t, &shapeContext{Tenant: "acme"}, arrived[0])
		arrived = arrived[1:]
	}
	if l.ctx {
		assert.Equal(t, ctx, arrived[0])
		arrived = arrived[1:]
	}
	if l.job {
		assert.Same(t, job, arrived[0])
		arrived = arrived[1:]
	}
	for i, want := range args {
		assert.Equal(t, want, arrived[i], "argument %d", i+1)
	}
}

func shapeType(l lead, args shapeArgs, returns shapeReturn) reflect.Type {
	in := leadTypes(l)
	for _, want := range args.want {
		in = append(in, reflect.TypeOf(want))
	}
	return reflect.FuncOf(in, returns.out, args.variadic)
}

func leadTypes(l lead) (in []reflect.Type) {
	if l.own {
		in = append(in, reflect.TypeFor[*shapeContext]())
	}
	if l.ctx {
		in = append(in, reflect.TypeFor[context.Context]())
	}
	if l.job {
		in = append(in, reflect.TypeFor[*Job]())
	}
	return in
}

func shapeValues(returns shapeReturn) (out []reflect.Value) {
	for i, t := range returns.out {
		v := reflect.New(t).Elem()
		if returns.values[i] != nil {
			v.Set(reflect.ValueOf(returns.values[i]))
		}
		out = append(out, v)
	}
	return out
}

// Every order and every number of the special parameters but the legal ones is refused, whatever stands around them.
func TestHandlerRefusesEveryOtherOrder(t *testing.T) {
	t.Parallel()
	special := []reflect.Type{reflect.TypeFor[*shapeContext](), reflect.TypeFor[context.Context](),
		reflect.TypeFor[*Job](), reflect.TypeFor[int64]()}
	c := newCompiler(t, shapeContext{})
	legal := 0
	for length := range 5 {
		for _, in := range sequences(special, length) {
			fn := reflect.Zero(reflect.FuncOf(in, []reflect.Type{reflect.TypeFor[error]()}, false)).Type()
			_, err := c.Handler(reflect.MakeFunc(fn, nil).Interface())
			if isLegalOrder(special, in) {
				legal++
				assert.NoError(t, err, "%v", in)
				continue
			}
			var refusal *handler.Refusal
			assert.ErrorAs(t, err, &refusal, "%v", in)
		}
	}
	assert.Equal(t, 1+4+7+8+8, legal, "legal lists of 0 to 4 parameters")
}

// isLegalOrder states the rule anew: strictly ascending up to the first argument, and only arguments from there on.
func isLegalOrder(special, in []reflect.Type) bool {
	last, argument := -1, len(special)-1
	for _, t := range in {
		at := 0
		for special[at] != t {
			at++
		}
		if at < last || (at == last && at != argument) {
			return false
		}
		last = at
	}
	return true
}

func sequences(of []reflect.Type, length int) [][]reflect.Type {
	if length == 0 {
		return [][]reflect.Type{nil}
	}
	var all [][]reflect.Type
	for _, shorter := range sequences(of, length-1) {
		for _, t := range of {
			all = append(all, append(append([]reflect.Type(nil), shorter...), t))
		}
	}
	return all
}

// Each type that JSON cannot carry is refused at every place where an argument can stand, also deep inside.
func TestHandlerRefusesTypesThatJSONCannotCarry(t *testing.T) {
	t.Parallel()
	c := newCompiler(t, shapeContext{})
	for _, bad := range []reflect.Type{
		reflect.TypeFor[chan int](), reflect.TypeFor[func()](), reflect.TypeFor[complex64](),
		reflect.TypeFor[complex128](),
		reflect.TypeFor[error](), reflect.TypeFor[fmt.Stringer](), reflect.TypeFor[map[[2]int]string](),
	} {
		field := reflect.StructOf([]reflect.StructField{{Name: "Inner", Type: bad}})
		for _, arg := range []reflect.Type{
			bad, reflect.PointerTo(bad), reflect.SliceOf(bad), reflect.ArrayOf(2, bad),
			reflect.MapOf(reflect.TypeFor[string](), bad),
			field, reflect.SliceOf(reflect.PointerTo(field)),
		} {
			for _, l := range []lead{{}, {own: true, ctx: true, job: true}} {
				for _, variadic := range []bool{false, true} {
					in := append(leadTypes(l), reflect.TypeFor[int](), arg)
					if variadic {
						in[len(in)-1] = reflect.SliceOf(arg)
					}
					fn := reflect.MakeFunc(reflect.FuncOf(in, []reflect.Type{reflect.TypeFor[error]()}, variadic), nil)
					_, err := c.Handler(fn.Interface())
					var refusal *handler.Refusal
					assert.ErrorAs(t, err, &refusal, "%v", in)
				}
			}
		}
	}
}
