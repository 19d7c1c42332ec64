package visit

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
)

// Running holds the long actions that a button can stop. The zero value is empty. All methods may be called
// concurrently.
type Running struct{ byKey sync.Map } // of run

type run struct {
	what string
	stop context.CancelCauseFunc
}

// errStopped is the cause that ends an action by its button.
var errStopped = errors.New("it was stopped before its end")

// Begin makes the visit one that [Running.Stop] can end, and returns the key for that. It forgets the key with the
// request.
func (r *Running) Begin(v *Visit, what string) (key string) {
	request := v.Ctx()
	ctx, stop := context.WithCancelCause(request)
	v.R, key = v.R.WithContext(ctx), rand.Text()
	r.byKey.Store(key, run{what, stop})
	context.AfterFunc(request, func() { r.byKey.Delete(key) })
	return key
}

// End forgets the action of a key, and returns why it has ended: err, or that it was stopped.
func (r *Running) End(v *Visit, key string, err error) error {
	r.byKey.Delete(key)
	if err != nil && errors.Is(context.Cause(v.Ctx()), errStopped) {
		return errStopped
	}
	return err
}

// Stop ends the action of a key, and returns what that was; "" where it has ended already, or runs on another server.
func (r *Running) Stop(key string) (what string) {
	value, known := r.byKey.LoadAndDelete(key)
	if !known {
		return ""
	}
	one := value.(run)
	one.stop(errStopped)
	return one.what
}
