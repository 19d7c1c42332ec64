package handler

import (
	"context"
	"reflect"
	"slices"
	"sync"

	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/objects"
)

// Handler is a compiled handler. It may run in any number of goroutines.
type Handler struct {
	name      string
	call      func([]reflect.Value) []reflect.Value
	lead      lead
	args      []argument
	tail      *argument    // one element of the variadic tail; nil when there is none
	tailList  reflect.Type // the tail as the function sees it
	hasResult bool
	batch     reflect.Type // of the jobs that it takes together, whose args these are; nil where it takes one
	frames    *sync.Pool
}

// Call is one job as a handler gets it.
type Call struct {
	Own     UserContext    // its copy of the prototype
	Job     any            // of the compiler's type for jobs
	Args    []byte         // the JSON array
	Objects objects.Source // where references to objects among its arguments read from; nil where it has none
}

// String is the readable name of the user's function and where it is: "shop.(*Context).CreateWatch (handlers.go:12)".
func (h *Handler) String() string { return h.name }

// Args is how many arguments the handler takes, and whether it takes any number more.
func (h *Handler) Args() (n int, more bool) { return len(h.args), h.tail != nil }

// Types are those of the arguments, without any number more.
func (h *Handler) Types() []reflect.Type {
	types := make([]reflect.Type, len(h.args))
	for i := range h.args {
		types[i] = h.args[i].of
	}
	return types
}

// Strict is the handler that refuses fields which the structs among its arguments do not have. Others are left out.
func (h *Handler) Strict() *Handler {
	strict := *h
	strict.args = slices.Clone(h.args)
	for i := range strict.args {
		strict.args[i].strict = true
	}
	if h.tail != nil {
		tail := *h.tail
		tail.strict = true
		strict.tail = &tail
	}
	return &strict
}

// Run decodes the job's arguments and calls the function. An *ArgumentError means that it was not called; no function
// of a program can return one. A panic of the function passes through.
func (h *Handler) Run(ctx context.Context, call Call) (result any, hasResult bool, err error) {
	f := h.frames.Get().(*frame)
	f.addLead(h.lead, ctx, call.Own, call.Job)
	if err := h.decode(f, call.Args); err != nil {
		f.putBack(h.frames)
		return nil, false, err
	}
	if call.Objects != nil {
		f.bindObjects(call.Objects)
	}
	out := h.call(f.in)
	f.putBack(h.frames)
	if failure := out[len(out)-1]; !failure.IsNil() {
		return nil, false, errchain.Tame(failure.Interface().(error))
	}
	if !h.hasResult {
		return nil, false, nil
	}
	return out[0].Interface(), true, nil
}

// CheckArgs tells whether the handler could take this JSON array; the errors are those of Run. An UnmarshalJSON that
// panics does so in the goroutine of a caller who enqueues, and has nothing to do with it: that is an error here, made
// by panicked of what was given to panic.
func (h *Handler) CheckArgs(args []byte, panicked func(value any) error) (err error) {
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
			err = h.refuseArgument(at, f.pieces[at], a, panicked(value))
		}
	}()
	err = h.decode(f, args)
	f.putBack(h.frames)
	return err
}

// decode appends a value for each argument to the frame.
func (h *Handler) decode(f *frame, args []byte) error {
	pieces, ok := rawjson.Split(f.pieces[:0], args)
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

func (h *Handler) decodeTail(f *frame, pieces [][]byte) error {
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
