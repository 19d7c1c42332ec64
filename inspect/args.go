package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// ChangeArgs gives a job that no worker holds other args, encoded as an enqueue encodes them. It stays where it is, and
// all else of it stays as it was, also the lock of a unique job. They are not compared with the handler, which only
// workers know. What is refused is told as by [Inspector.Stall]; one that runs or has ended is. Args that cannot be are
// an *[work.InvalidError].
func (i *Inspector) ChangeArgs(ctx context.Context, id string, args ...any) error {
	const past = "given other args"
	encoded, err := encodeArgs(id, args)
	if err != nil {
		return failed(id, past, err)
	}
	c := control{past: past, from: []work.State{work.StateQueued, work.StateScheduled, work.StateRetrying,
		work.StateStalled, work.StateDead}}
	for range backoff.Rereads(ctx) {
		v, seen, err := i.find(ctx, id)
		if err != nil {
			return failed(id, past, err)
		}
		if err := c.refusal(&seen); err != nil {
			return err
		}
		done, err := v.changeArgs(ctx, &seen, encoded)
		if err != nil {
			return failed(id, past, err)
		}
		if done {
			return nil
		}
	}
	return failed(id, past, errKeepsMoving)
}

// changeArgs is false when the record is not as it was read, or somebody holds the job.
func (v *view) changeArgs(ctx context.Context, seen *seenJob, args []byte) (bool, error) {
	edited, err := record.WithArgs(seen.Record, args)
	if err != nil {
		return false, err
	}
	amended, err := v.store.Amend(ctx, rdb.Amendment{ID: seen.ID, Read: seen.Record, New: edited})
	if err != nil || amended != rdb.AmendDone {
		return false, err
	}
	return true, v.dropReferences(ctx, seen)
}

// dropReferences frees the objects that stood for some of the old args. What is left after an error goes with the job.
func (v *view) dropReferences(ctx context.Context, seen *seenJob) error {
	objects := ending.BelongingsIn(seen.Record, seen.Trail).Objects
	slices.Sort(objects)
	for _, sha := range slices.Compact(objects) {
		if _, err := (rdb.Objects{Store: v.store}).Unrefer(ctx, sha, []string{seen.ID}); err != nil {
			return fmt.Errorf("the args were changed, and object %s is still kept for the old ones: %w", sha, err)
		}
	}
	return nil
}

// encodeArgs is the JSON array of the args of a job, as an enqueue without objects encodes them.
func encodeArgs(job string, args []any) ([]byte, error) {
	encoded, err := jobargs.EncodeAll(nil, job, args, jobargs.DefaultInRecord)
	return encoded, inside.AsInvalid(err)
}
