package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/objects"
)

// FullArgs returns the args of a job that has not ended, with those that are kept as objects in their places, as its
// handler gets them; JobInfo.Args has null there. It reads each object by itself. One that is kept outside of Redis, by
// an ObjectHome, the Inspector does not find: then the error is an *[work.ObjectError]. It is [work.ErrNotFound] where
// there is no such job.
func (i *Inspector) FullArgs(ctx context.Context, id string) (json.RawMessage, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	args, err := i.wholeArgs(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("the args of job %s cannot be read: %w", excerpt.Brief(id), err)
	}
	return args, nil
}

func (i *Inspector) wholeArgs(ctx context.Context, id string) (json.RawMessage, error) {
	if err := inside.AsInvalid(invalid.JobID(id)); err != nil {
		return nil, err
	}
	found, err := i.store.Lookup(ctx, []string{id}, record.NameIn)
	if err != nil {
		return nil, err
	}
	if found[0].Err != nil {
		return nil, found[0].Err
	}
	if found[0].Record == nil {
		return nil, work.ErrNotFound
	}
	rec, err := record.Decode(found[0].Record)
	if err != nil {
		return nil, err
	}
	pieces, ok := rawjson.Split(nil, rec.Args)
	if !ok {
		return rec.Args, nil // it is shown as it is
	}
	contents, err := objects.New(i.store, objects.Options{})
	if err != nil {
		return nil, err
	}
	for _, at := range slices.Sorted(maps.Keys(rec.Objects)) {
		if at < 0 || at >= len(pieces) || string(pieces[at]) != "null" {
			continue
		}
		hash := objects.Hash(rec.Objects[at])
		if pieces[at], err = contents.Get(ctx, hash); err != nil {
			return nil, &work.ObjectError{Argument: at + 1, Hash: hash, Err: err}
		}
	}
	return rawjson.Join(pieces), nil
}
