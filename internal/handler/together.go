package handler

import (
	"context"
	"reflect"

	"github.com/265d0351/work/internal/errchain"
	"github.com/265d0351/work/objects"
)

// batchOf returns the type of the argument that each job of a batch has; nil for what is no batch. Near is what was
// meant to be one: a pointer to it, or its items by themselves.
func (c *Compiler) batchOf(t reflect.Type) (args reflect.Type, near bool) {
	if c.Batch == nil {
		return nil, false
	}
	for of := t; ; of = of.Elem() {
		switch of.Kind() {
		case reflect.Slice:
			found, _ := c.Batch(reflect.Zero(of).Interface())
			if found == nil {
				continue
			}
			args := reflect.TypeOf(found).Elem()
			if within, near := c.batchOf(args); of != t || within != nil || near {
				return nil, true
			}
			return args, false
		case reflect.Pointer, reflect.Array:
		case reflect.Struct:
			_, item := c.Batch(reflect.Zero(reflect.PointerTo(of)).Interface())
			return nil, item
		default:
			return nil, false
		}
	}
}

// Together tells whether the handler takes jobs together, as one batch: it runs by Decode and RunTogether.
func (h *Handler) Together() bool { return h.batch != nil }

// EmptyBatch is the zero value of the batch that the function takes.
func (h *Handler) EmptyBatch() any { return reflect.Zero(h.batch).Interface() }

// Decode decodes the argument of one job of a batch; the error is an *ArgumentError. A panic of a type's own decoding
// passes through.
func (h *Handler) Decode(args []byte, source objects.Source) (value any, err error) {
	f := h.frames.Get().(*frame)
	if err = h.decode(f, args); err == nil {
		if source != nil {
			f.bindObjects(source)
		}
		value = f.in[0].Interface()
	}
	f.putBack(h.frames)
	return value, err
}

// RunTogether calls the function with a batch of the type that it takes. A panic of the function passes through.
func (h *Handler) RunTogether(ctx context.Context, own UserContext, batch any) error {
	f := h.frames.Get().(*frame)
	f.addLead(h.lead, ctx, own, nil)
	f.in = append(f.in, reflect.ValueOf(batch))
	out := h.call(f.in)
	f.putBack(h.frames)
	if failure := out[len(out)-1]; !failure.IsNil() {
		return errchain.Tame(failure.Interface().(error))
	}
	return nil
}
