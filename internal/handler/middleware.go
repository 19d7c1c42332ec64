package handler

import (
	"context"
	"reflect"
	"sync"
)

// Middleware is a compiled middleware. It may run in any number of goroutines.
type Middleware struct {
	name   string
	call   func([]reflect.Value) []reflect.Value
	lead   lead
	frames *sync.Pool
}

// String is the readable name of the user's function and where it is.
func (m *Middleware) String() string { return m.name }

// Run calls the function; job and next are of the compiler's types. A panic of the function passes through.
func (m *Middleware) Run(ctx context.Context, own UserContext, job, next any) error {
	f := m.frames.Get().(*frame)
	f.addLead(m.lead, ctx, own, job)
	f.in = append(f.in, reflect.ValueOf(next))
	out := m.call(f.in)
	f.putBack(m.frames)
	err, _ := out[0].Interface().(error)
	return err
}
