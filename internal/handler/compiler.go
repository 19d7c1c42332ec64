package handler

import (
	"context"
	"reflect"
	"runtime"
)

var (
	contextType = reflect.TypeFor[context.Context]()
	errorType   = reflect.TypeFor[error]()
)

// Compiler makes the handlers and middleware of one pool. It is safe for concurrent use.
type Compiler struct {
	prototype prototype
	job       reflect.Type // the pointer that functions take as their job
	next      reflect.Type // the function type that middleware take as their next

	// Batch tells of the zero value of a slice whether it is a batch of jobs, by a nil pointer to what each of them has
	// as its argument; and of a nil pointer to a struct whether that is an item of one. Nil where there are none.
	Batch func(zero any) (args any, item bool)
}

// NewCompiler makes the compiler of a pool with this prototype: a struct, a pointer to a struct, or nil for none. J is
// the pointer to a job, N the type of next. With an error, which is a *Refusal, it is that of a pool without a context.
func NewCompiler[J any, N ~func(context.Context) error](prototype any) (*Compiler, error) {
	p, err := newPrototype(prototype)
	return &Compiler{prototype: p, job: reflect.TypeFor[J](), next: reflect.TypeFor[N]()}, err
}

// UserContext makes the shallow copy of the prototype for one job.
func (c *Compiler) UserContext() UserContext { return c.prototype.instance() }

// Handler checks that fn is func([*C,] [context.Context,] [J,] arguments...) error, or with a result before the error,
// or func([*C,] [context.Context,] batch) error, and prepares its calls. Every refusal is a *Refusal.
func (c *Compiler) Handler(fn any) (*Handler, error) {
	s, v, err := c.describe("handler", fn)
	if err != nil {
		return nil, err
	}
	if err := s.checkHandler(); err != nil {
		return nil, err
	}
	h := &Handler{name: s.function, call: v.Call, lead: s.lead, hasResult: len(s.out) == 2,
		frames: newFrames(len(s.in))}
	for i := s.lead.count(); i < len(s.in); i++ {
		of := v.Type().In(i)
		if s.in[i].is == batchValue {
			h.batch = of
			of, _ = c.batchOf(of)
		}
		h.args = append(h.args, newArgument(of))
	}
	if s.variadic {
		last := len(h.args) - 1
		tail := newArgument(h.args[last].of.Elem())
		h.call, h.tail, h.tailList, h.args = v.CallSlice, &tail, h.args[last].of, h.args[:last]
	}
	return h, nil
}

// Middleware checks that fn is func([*C,] context.Context, J, N) error and prepares its calls. Every refusal is a
// *Refusal.
func (c *Compiler) Middleware(fn any) (*Middleware, error) {
	s, v, err := c.describe("middleware", fn)
	if err != nil {
		return nil, err
	}
	if err := s.checkMiddleware(); err != nil {
		return nil, err
	}
	return &Middleware{name: s.function, call: v.Call, lead: s.lead, frames: newFrames(len(s.in))}, nil
}

// describe says what fn looks like. What is no function at all is refused here.
func (c *Compiler) describe(role string, fn any) (*signature, reflect.Value, error) {
	s, v := &signature{role: role, job: c.job.String(), next: c.next.String()}, reflect.ValueOf(fn)
	if c.prototype.pointer != nil {
		s.own = c.prototype.pointer.Elem().String()
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
		s.in = append(s.in, c.describeParameter(in, f.Name()))
	}
	for i := range t.NumOut() {
		s.out = append(s.out, describeResult(t.Out(i)))
	}
	return s, v, nil
}

func (c *Compiler) describeParameter(t reflect.Type, symbol string) typeLooks {
	decoded := t
	args, near := c.batchOf(t)
	if args != nil {
		decoded = args
	}
	looks := typeLooks{name: t.String(), is: c.roleOf(t), fault: (&jsonWalk{decoding: true}).fault(decoded, "", true)}
	switch {
	case near:
		looks.is = nearBatch
	case args != nil:
		looks.is = batchValue
	case looks.is != anyType:
	case t.Kind() == reflect.Func:
		looks.is = otherFunction
	case t.Kind() == reflect.Struct:
		looks.receiver = isMethodOf(symbol, t.PkgPath()+"."+t.Name()+".")
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct:
		looks.structPointer = true
		looks.receiver = isMethodOf(symbol, t.Elem().PkgPath()+".(*"+t.Elem().Name()+").")
	}
	return looks
}

// roleOf finds the special parameters and what is one * away from them.
func (c *Compiler) roleOf(t reflect.Type) typeRole {
	switch own := c.prototype.pointer; {
	case own == nil:
	case t == own:
		return ownPointer
	case t == own.Elem():
		return ownValue
	case t == reflect.PointerTo(own):
		return ownPointerPointer
	}
	switch t {
	case contextType:
		return contextValue
	case reflect.PointerTo(contextType):
		return contextPointer
	case c.job:
		return jobPointer
	case c.job.Elem():
		return jobValue
	case reflect.PointerTo(c.job):
		return jobPointerPointer
	case c.next:
		return nextValue
	}
	return anyType
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
