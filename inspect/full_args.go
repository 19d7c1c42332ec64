package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/ended"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/rawjson"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
	"github.com/265d0351/work/objects"
)

// FullArgs returns the args of a job, with those that are kept as objects in their places, as its handler gets them;
// JobInfo.Args has null there. It reads each object by itself. One that is kept outside of Redis, by an ObjectHome, the
// Inspector does not find, and those of a job that has ended go when no other job needs them: then the error is an
// *[work.ObjectError]. It is [work.ErrNotFound] where there is no such job, or its args are not kept. Those that codecs
// have stored stay as they are: see [Opener.FullArgs].
func (i *Inspector) FullArgs(ctx context.Context, id string) (json.RawMessage, error) {
	return i.fullArgs(ctx, id, nil)
}

// fullArgs are the args in full, opened by these codecs where there are some.
func (i *Inspector) fullArgs(ctx context.Context, id string, codecs *codec.Chain) (json.RawMessage, error) {
	if i.unusable != nil {
		return nil, i.unusable
	}
	_, args, err := seek(ctx, i, id, seeking[json.RawMessage]{
		question: func(v *view, ctx context.Context) (json.RawMessage, error) { return v.wholeArgs(ctx, id, codecs) },
	})
	if err != nil {
		return nil, fmt.Errorf("the args of job %s cannot be read: %w", excerpt.Brief(id), err)
	}
	return args, nil
}

func (v *view) wholeArgs(ctx context.Context, id string, codecs *codec.Chain) (json.RawMessage, error) {
	if err := inside.AsInvalid(invalid.JobID(id)); err != nil {
		return nil, err
	}
	found, err := v.store.Lookup(ctx, []string{id}, record.NameIn)
	if err != nil {
		return nil, err
	}
	if found[0].Err != nil {
		return nil, found[0].Err
	}
	stored, err := recordOf(&found[0])
	if err == nil && stored == nil {
		err = work.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	rec, err := record.Decode(stored)
	if err != nil {
		return nil, err
	}
	opened := rec.Args
	if codecs != nil {
		if opened, err = codecs.Open(codec.Args(rec.Name), rec.Args); err != nil {
			return nil, inside.CodecError("they", err)
		}
	}
	pieces, ok := rawjson.Split(nil, opened)
	if !ok {
		return opened, nil // it is shown as it is
	}
	contents, err := objects.New(v.store, objects.Options{})
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
		if codecs == nil {
			continue
		}
		if pieces[at], err = codecs.Open(codec.Argument(rec.Name), pieces[at]); err != nil {
			return nil, inside.CodecError("one of them", err)
		}
	}
	return rawjson.Join(pieces), nil
}

// recordOf is the record of a job with its args, also of one that has ended; nil where it is not kept.
func recordOf(found *rdb.Found) ([]byte, error) {
	if found.Details == nil {
		return found.Record, nil
	}
	details, err := ended.Decode(found.Details)
	if details.NoArgs != "" {
		return nil, fmt.Errorf("they were not kept when it ended (%s): %w", details.NoArgs, work.ErrNotFound)
	}
	return details.Record, err
}
