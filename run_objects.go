package work

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/objects"
)

// defaultObjectCache is how many bytes of objects a pool keeps.
const defaultObjectCache = 64 << 20

// poolObjects is how a pool reads the objects that its jobs need, and stores results.
type poolObjects struct {
	store *objects.Store
	cache *objects.Cache
	large int // above how many bytes a result is one

	collector *objects.Collector // the janitor's
}

func newPoolObjects(store *rdb.Store, options WorkerOptions) (*poolObjects, error) {
	contents, err := objects.New(store, objects.Options{Home: options.ObjectHome, Grace: options.ObjectGrace})
	if err != nil {
		return nil, err
	}
	return &poolObjects{
		store: contents, cache: objects.NewCache(contents, options.ObjectCache),
		large:     newArgsLimits(0, options.LargeArgs).large,
		collector: contents.Collector(),
	}, nil
}

// ObjectError says that an argument of a job is stored as an object and that the worker could not have it. Where that
// can pass, the job waits for a while without using an attempt, as after [Release]. Where it cannot, since the object
// has vanished or is not what was stored, the job goes to the morgue with this as its reason.
type ObjectError struct {
	Argument int          // 1 is the first
	Hash     objects.Hash // as the record has it
	Err      error        // such as *objects.VanishedError, *objects.MismatchError
	final    bool
}

func (e *ObjectError) Error() string { return cut(e.text()) }

func (e *ObjectError) text() string {
	return fmt.Sprintf("argument %d, the object %.64q, cannot be had: %s", e.Argument, string(e.Hash), errorText(e.Err))
}

// Unwrap returns why.
func (e *ObjectError) Unwrap() error { return e.Err }

// gatherObjects puts the arguments that are objects into the job's Args, where null stands for them. What the program
// refers to by a [objects.Ref] its handler reads when it wants to.
func (r *run) gatherObjects() error {
	pieces, ok := splitArray(nil, r.record.Args)
	if !ok {
		return nil // its handler refuses it
	}
	for _, i := range slices.Sorted(maps.Keys(r.record.Objects)) {
		hash := objects.Hash(r.record.Objects[i])
		if i < 0 || i >= len(pieces) {
			return &ObjectError{Argument: i + 1, Hash: hash, final: true,
				Err: fmt.Errorf("the record has %d arguments", len(pieces))}
		}
		if string(pieces[i]) != "null" {
			continue
		}
		content, err := r.worker.pool.objects.cache.Get(r.ctx, hash)
		if err != nil {
			return r.judgeObject(&ObjectError{Argument: i + 1, Hash: hash, Err: err, final: isFinal(err)})
		}
		pieces[i] = content
	}
	r.job.Args = joinArray(pieces)
	return nil
}

// bindObjects tells the references to objects among the arguments where to read from.
func (f *frame) bindObjects(job *Job) {
	if job.run == nil || len(job.run.record.Objects) == 0 {
		return
	}
	for _, value := range f.in {
		binder, ok := value.Interface().(objects.Binder) // a pointer, if anything
		if !ok && value.CanAddr() {
			binder, ok = value.Addr().Interface().(objects.Binder)
		}
		if ok && !value.IsZero() {
			binder.Bind(job.run.worker.pool.objects.cache)
		}
	}
}

// judgeObject decides whether the attempt has failed. What is wrong on the way to Redis is not the job's failure.
func (r *run) judgeObject(e *ObjectError) error {
	var refused *rdb.ServerError
	if e.final || r.ctx.Err() != nil || errors.As(e.Err, &refused) && !rdb.ConcernsServer(e.Err) {
		return e
	}
	return Release(e)
}

// keptResult is a result as the outcome has it.
type keptResult struct {
	inline []byte
	object string // hash
}

// keepResult encodes a result and stores a large one as an object, to which the job then refers.
func (r *run) keepResult(result any) (keptResult, error) {
	o, most := r.worker.pool.objects, maxResultBytes
	if o.large < objects.MaxSize {
		most = objects.MaxSize
	}
	encoded, err := encodeResult(r.registration.handler, result, most)
	if err != nil || len(encoded) <= o.large {
		return keptResult{inline: encoded}, err
	}
	hash, err := o.keep(r.worker.life, encoded, r.job.ID)
	switch {
	case err == nil:
		return keptResult{object: string(hash)}, nil
	case len(encoded) <= maxResultBytes: // such as in a full Redis, where a settlement is never refused
		return keptResult{inline: encoded}, nil
	}
	return keptResult{}, &ResultError{Handler: r.registration.handler.String(), Err: err}
}

// keep stores a content for a job that has a record, or will have an outcome.
func (o *poolObjects) keep(ctx context.Context, content []byte, id string) (hash objects.Hash, err error) {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	err = insist(ctx, func(ctx context.Context) error {
		if hash, err = o.store.Put(ctx, content); err != nil {
			return err
		}
		return o.store.Refer(ctx, hash, id)
	})
	return hash, err
}
