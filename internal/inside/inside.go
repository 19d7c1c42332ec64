// Package inside gives the packages beside the root what is inside of it, which programs do not see: the store of a
// pool, of an enqueuer or of an inspector, and what the root makes of errors. Each owner sets its functions when its
// package is initialised; whoever asks imports that package, so that it has been.
package inside

import "github.com/265d0351/work/internal/rdb"

// Of is what is inside.
type Of struct {
	Store       *rdb.Store
	MorgueLimit int   // how many dead jobs the pools of the namespace keep, as far as is known
	Unusable    error // why there is no store, which each call returns
}

// What package work sets.
var (
	Pool     func(pool any) Of     // looks into a *work.WorkerPool, which need not be started
	Enqueuer func(enqueuer any) Of // looks into a *work.Enqueuer
	// AsInvalid makes an *invalid.Error, or one below err, a *work.InvalidError. The text stays.
	AsInvalid func(err error) error
)

// Inspector looks into an *inspect.Inspector. Package inspect sets it.
var Inspector func(inspector any) Of
