package work

import (
	"context"
	"encoding"
	"encoding/json"
	"math/big"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/265d0351/work/internal/exactjson"
)

// Here and in json_walk.go is all that the package does with reflect to call functions. A function is looked at once,
// when it is registered: described without reflect (signature.go judges that) and compiled. Running a job fills a list
// of values and calls it.

var (
	contextType         = reflect.TypeFor[context.Context]()
	jobType             = reflect.TypeFor[*Job]()
	nextType            = reflect.TypeFor[NextFunc]()
	errorType           = reflect.TypeFor[error]()
	unmarshalerType     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
	marshalerType       = reflect.TypeFor[json.Marshaler]()
	textMarshalerType   = reflect.TypeFor[encoding.TextMarshaler]()
)

// prototype is the value given to NewWorkerPool, copied when it was given. Its zero value is that of a pool without a
// context.
type prototype struct {
	value   reflect.Value // the struct C
	pointer reflect.Type  // *C, what handlers and middleware take
}

// newPrototype accepts a struct, a pointer to a struct, or nil: no context at all.
func newPrototype(v any) (prototype, error) {
	if v == nil {
		return prototype{}, nil
	}
	given := reflect.ValueOf(v)
	isNil := given.Kind() == reflect.Pointer && given.IsNil()
	if given.Kind() == reflect.Pointer && !isNil {
		given = given.Elem()
	}
	if given.Kind() != reflect.Struct {
		return prototype{}, refusePrototype("of type "+reflect.TypeOf(v).String(), isNil)
	}
	own := reflect.New(given.Type()).Elem()
	own.Set(given)
	return prototype{value: own, pointer: reflect.PointerTo(given.Type())}, nil
}

// userContext is what one job's copy of the prototype travels as: a *C, or nothing.
type userContext struct{ pointer reflect.Value }

// instance makes the shallow copy for one job: pointers in it are shared with all other jobs, fields are its own.
func (p prototype) instance() userContext {
	if p.pointer == nil {
		return userContext{}
	}
	own := reflect.New(p.pointer.Elem())
	own.Elem().Set(p.value)
	return userContext{pointer: own}
}

// frame is the list of values for one call. Frames are used again.
type frame struct {
	in     []reflect.Value
	ctx    context.Context // in refers to it, which spares a conversion to an interface at each call
	pieces [][]byte
	inTail int // which one of the tail is being decoded
}

// newFrames makes frames with room for n values.
func newFrames(n int) *sync.Pool {
	return &sync.Pool{New: func() any { return &frame{in: make([]reflect.Value, 0, n)} }}
}

func (f *frame) addLead(l lead, ctx context.Context, uc userContext, job *Job) {
	if l.own {
		f.in = append(f.in, uc.pointer)
	}
	if l.ctx {
		f.ctx = ctx
		f.in = append(f.in, reflect.ValueOf(&f.ctx).Elem())
	}
	if l.job {
		f.in = append(f.in, reflect.ValueOf(job))
	}
}

// putBack keeps an emptied frame for the next call. It is not reached after a panic: the frame is then dropped.
func (f *frame) putBack(to *sync.Pool) {
	clear(f.in)
	clear(f.pieces)
	f.in, f.ctx = f.in[:0], nil
	if cap(f.pieces) > 64 { // one long list must not stay in memory
		f.pieces = nil
	}
	to.Put(f)
}

// handler is a compiled handler. It may run in any number of goroutines.
type handler struct {
	name      string
	call      func([]reflect.Value) []reflect.Value
	lead      lead
	args      []argument
	tail      *argument    // one element of the variadic tail; nil when there is none
	tailList  reflect.Type // the tail as the function sees it
	hasResult bool
	frames    *sync.Pool
}

// run decodes the job's arguments and calls the function. An *ArgumentError means that it was not called. A panic of
// the function passes through.
func (h *handler) run(ctx context.Context, uc userContext, job *Job) (result any, hasResult bool, err error) {
	f := h.frames.Get().(*frame)
	f.addLead(h.lead, ctx, uc, job)
	if err := h.decode(f, job.Args); err != nil {
		f.putBack(h.frames)
		return nil, false, ofRun(err)
	}
	f.bindObjects(job)
	out := h.call(f.in)
	f.putBack(h.frames)
	if failure := out[len(out)-1]; !failure.IsNil() {
		return nil, false, tame(failure.Interface().(error))
	}
	if !h.hasResult {
		return nil, false, nil
	}
	return out[0].Interface(), true, nil
}

// checkArgs tells whether the handler could take this JSON array; the errors are those of run. An UnmarshalJSON that
// panics does so in the goroutine of a caller who enqueues, and has nothing to do with it: that is an error here.
func (h *handler) checkArgs(args []byte) (err error) {
	f := h.frames.Get().(*frame)
	defer func() {
		if value := recover(); value != nil {
			at := len(f.in) // what was decoded is there
			a := h.tail
			if at < len(h.args) {
				a = &h.args[at]
			} else {
				at += f.inTail
			}
			err = h.refuseArgument(at, f.pieces[at], a, &PanicError{Value: value, Stack: string(debug.Stack())})
		}
	}()
	err = h.decode(f, args)
	f.putBack(h.frames)
	return err
}

// decode appends a value for each argument to the frame.
func (h *handler) decode(f *frame, args []byte) error {
	pieces, ok := splitArray(f.pieces[:0], args)
	f.pieces = pieces
	if !ok || len(pieces) < len(h.args) || (h.tail == nil && len(pieces) > len(h.args)) {
		return h.refuseList(args)
	}
	for i := range h.args {
		slot := reflect.New(h.args[i].of).Elem()
		if err := h.args[i].decode(slot, pieces[i]); err != nil {
			return h.refuseArgument(i, pieces[i], &h.args[i], err)
		}
		f.in = append(f.in, slot)
	}
	if h.tail == nil {
		return nil
	}
	return h.decodeTail(f, pieces[len(h.args):])
}

func (h *handler) decodeTail(f *frame, pieces [][]byte) error {
	list := reflect.Zero(h.tailList)
	if n := len(pieces); n > 0 {
		list = reflect.MakeSlice(h.tailList, n, n)
	}
	for i, piece := range pieces {
		f.inTail = i
		if err := h.tail.decode(list.Index(i), piece); err != nil {
			return h.refuseArgument(len(h.args)+i, piece, h.tail, err)
		}
	}
	f.in = append(f.in, list)
	return nil
}

// argument is a parameter that comes from the job's JSON.
type argument struct {
	of   reflect.Type
	want string // of, as errors show it
	// Int64, Uint64, Float64, String, Bool: what need not go through encoding/json; Invalid for the rest
	plain reflect.Kind
	null  bool // null has a meaning

	holdsAny bool // there may be an any somewhere in it
}

func newArgument(t reflect.Type) argument {
	a := argument{of: t, want: t.String(), holdsAny: exactjson.MayHoldAny(t)}
	ownJSON := reflect.PointerTo(t).Implements(unmarshalerType)
	switch t.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Interface:
		a.null = true
	default:
		// A type's own UnmarshalJSON may know null (an optional value). Of these two it is known that they ignore it.
		a.null = ownJSON && t != reflect.TypeFor[time.Time]() && t != reflect.TypeFor[big.Int]()
	}
	if ownJSON || reflect.PointerTo(t).Implements(textUnmarshalerType) || t == reflect.TypeFor[json.Number]() {
		return a
	}
	switch zero := reflect.Zero(t); {
	case zero.CanInt():
		a.plain = reflect.Int64
	case zero.CanUint():
		a.plain = reflect.Uint64
	case zero.CanFloat():
		a.plain = reflect.Float64
	case t.Kind() == reflect.String, t.Kind() == reflect.Bool:
		a.plain = t.Kind()
	}
	return a
}

// decode stores a piece of JSON in slot: what encoding/json would store, but null only where it has a meaning.
func (a *argument) decode(slot reflect.Value, piece []byte) error {
	if a.decodePlain(slot, piece) {
		return nil
	}
	if !a.null && string(piece) == "null" {
		return errNullArgument
	}
	if a.holdsAny {
		return exactjson.Unmarshal(piece, slot.Addr().Interface())
	}
	return json.Unmarshal(piece, slot.Addr().Interface())
}

// decodePlain says false to all that is not simple and right; encoding/json then has the word.
func (a *argument) decodePlain(slot reflect.Value, piece []byte) bool {
	switch a.plain {
	case reflect.Int64:
		if n, ok := plainInt(piece); ok && !slot.OverflowInt(n) {
			slot.SetInt(n)
			return true
		}
	case reflect.Uint64:
		if n, ok := plainUint(piece); ok && !slot.OverflowUint(n) {
			slot.SetUint(n)
			return true
		}
	case reflect.Float64:
		if n, ok := plainFloat(piece, a.of.Bits()); ok {
			slot.SetFloat(n)
			return true
		}
	case reflect.String:
		if s, ok := plainString(piece); ok {
			slot.SetString(s)
			return true
		}
	case reflect.Bool:
		if b, ok := plainBool(piece); ok {
			slot.SetBool(b)
			return true
		}
	}
	return false
}

// compileHandler checks that fn is a handler for pools with this prototype, and prepares its calls. Every refusal is a
// *SignatureError.
func compileHandler(p prototype, fn any) (*handler, error) {
	s, v, err := describeFunction("handler", p, fn)
	if err != nil {
		return nil, err
	}
	if err := s.checkHandler(); err != nil {
		return nil, err
	}
	h := &handler{name: s.function, call: v.Call, lead: s.lead, hasResult: len(s.out) == 2,
		frames: newFrames(len(s.in))}
	for i := s.lead.count(); i < len(s.in); i++ {
		h.args = append(h.args, newArgument(v.Type().In(i)))
	}
	if s.variadic {
		last := len(h.args) - 1
		tail := newArgument(h.args[last].of.Elem())
		h.call, h.tail, h.tailList, h.args = v.CallSlice, &tail, h.args[last].of, h.args[:last]
	}
	return h, nil
}

// compileMiddleware checks that fn is func([*C,] context.Context, *Job, NextFunc) error for pools with this prototype,
// and prepares its calls. Every refusal is a *SignatureError.
func compileMiddleware(p prototype, fn any) (middleware, error) {
	s, v, err := describeFunction("middleware", p, fn)
	if err != nil {
		return nil, err
	}
	if err := s.checkMiddleware(); err != nil {
		return nil, err
	}
	frames := newFrames(len(s.in))
	return guarded(s.function, directly(fn, func(ctx context.Context, uc userContext, job *Job, next NextFunc) error {
		f := frames.Get().(*frame)
		f.addLead(s.lead, ctx, uc, job)
		f.in = append(f.in, reflect.ValueOf(next))
		out := v.Call(f.in)
		f.putBack(frames)
		err, _ := out[0].Interface().(error)
		return err
	})), nil
}

// describeFunction says what fn looks like. What is no function at all is refused here.
func describeFunction(role string, p prototype, fn any) (*signature, reflect.Value, error) {
	s, v := &signature{role: role}, reflect.ValueOf(fn)
	if p.pointer != nil {
		s.own = p.pointer.Elem().String()
	}
	switch {
	case fn == nil:
		return nil, v, s.refuseNil("without a type")
	case v.Kind() == reflect.Func && v.IsNil():
		return nil, v, s.refuseNil("of type " + v.Type().String())
	case v.Kind() == reflect.Pointer && v.Type().Elem().Kind() == reflect.Func:
		return nil, v, s.refusePointer("of type " + v.Type().String())
	case v.Kind() != reflect.Func:
		return nil, v, s.refuseValue("of type " + v.Type().String())
	}
	t := v.Type()
	f := runtime.FuncForPC(v.Pointer())
	file, line := f.FileLine(f.Entry())
	s.function, s.variadic = readableFunction(f.Name(), file, line), t.IsVariadic()
	for i := range t.NumIn() {
		in := t.In(i)
		if t.IsVariadic() && i == t.NumIn()-1 {
			in = in.Elem()
		}
		s.in = append(s.in, describeParameter(p, in, f.Name()))
	}
	for out := range t.Outs() {
		s.out = append(s.out, describeResult(out))
	}
	return s, v, nil
}

var parameterRoles = map[reflect.Type]typeRole{
	contextType:                    contextValue,
	reflect.PointerTo(contextType): contextPointer,
	jobType:                        jobPointer,
	jobType.Elem():                 jobValue,
	reflect.PointerTo(jobType):     jobPointerPointer,
	nextType:                       nextValue,
}

func describeParameter(p prototype, t reflect.Type, symbol string) typeLooks {
	looks := typeLooks{name: t.String(), is: parameterRoles[t], fault: (&jsonWalk{decoding: true}).fault(t, "", true)}
	switch {
	case p.pointer != nil && t == p.pointer:
		looks.is = ownPointer
	case p.pointer != nil && t == p.pointer.Elem():
		looks.is = ownValue
	case p.pointer != nil && t == reflect.PointerTo(p.pointer):
		looks.is = ownPointerPointer
	case t.Kind() == reflect.Func && t != nextType:
		looks.is = otherFunction
	case t.Kind() == reflect.Struct:
		looks.receiver = isMethodOf(symbol, t.PkgPath()+"."+t.Name()+".")
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		looks.structPointer = true
		looks.receiver = isMethodOf(symbol, t.Elem().PkgPath()+".(*"+t.Elem().Name()+").")
	}
	return looks
}

func describeResult(t reflect.Type) typeLooks {
	looks := typeLooks{name: t.String(), fault: (&jsonWalk{}).fault(t, "", false)}
	switch {
	case t == errorType:
		looks.is = errorValue
	case t.Implements(errorType):
		looks.is = concreteError
	}
	return looks
}
