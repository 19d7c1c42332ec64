package handler

import (
	"context"
	"reflect"
	"sync"

	"github.com/265d0351/work/objects"
)

// maxKeptPieces is how many elements of a list a kept frame has room for: one long list must not stay in memory.
const maxKeptPieces = 64

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

func (f *frame) addLead(l lead, ctx context.Context, own UserContext, job any) {
	if l.own {
		f.in = append(f.in, own.pointer)
	}
	if l.ctx {
		f.ctx = ctx
		f.in = append(f.in, reflect.ValueOf(&f.ctx).Elem())
	}
	if l.job {
		f.in = append(f.in, reflect.ValueOf(job))
	}
}

// bindObjects tells the references to objects among the arguments where to read from.
func (f *frame) bindObjects(source objects.Source) {
	for _, value := range f.in {
		binder, ok := value.Interface().(objects.Binder) // a pointer, if anything
		if !ok && value.CanAddr() {
			binder, ok = value.Addr().Interface().(objects.Binder)
		}
		if ok && !value.IsZero() {
			binder.Bind(source)
		}
	}
}

// putBack keeps an emptied frame for the next call. It is not reached after a panic: the frame is then dropped.
func (f *frame) putBack(to *sync.Pool) {
	clear(f.in)
	clear(f.pieces)
	f.in, f.ctx = f.in[:0], nil
	if cap(f.pieces) > maxKeptPieces {
		f.pieces = nil
	}
	to.Put(f)
}
