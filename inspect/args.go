package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/backoff"
	"github.com/265d0351/work/internal/codec"
	"github.com/265d0351/work/internal/ending"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/jobargs"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// ChangeArgs gives a job that no worker holds other args, encoded as an enqueue encodes them. It stays where it is, and
// all else of it stays as it was, also the lock of a unique job. They are not compared with the handler, which only
// workers know. What is refused is told as by [Inspector.Stall]; one that runs or has ended is. Args that cannot be are
// an *[work.InvalidError]. A job that has done steps ([work.Step]), or waits in one, has done them with its old args:
// that is a *[StepsError], and [Inspector.ForgetSteps] comes first.
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
		stored, err := i.sealArgs(&seen, encoded)
		if err != nil {
			return failed(id, past, err)
		}
		done, err := v.changeArgs(ctx, &seen, stored)
		if err != nil {
			return failed(id, past, err)
		}
		if done {
			return nil
		}
	}
	return failed(id, past, errKeepsMoving)
}

// sealArgs are the args as the codecs of the Inspector store them. Where those that they replace are sealed they must
// be too.
func (i *Inspector) sealArgs(seen *seenJob, args []byte) ([]byte, error) {
	rec, err := record.Decode(seen.Record)
	if err != nil {
		return nil, err
	}
	stored, err := inside.Codecs(i.enqueuer(), rec.Name).Encode(codec.Args(rec.Name), args)
	if err != nil {
		return nil, inside.CodecError("they", err)
	}
	before, _ := codec.InfoOf(rec.Args)
	if now, _ := codec.InfoOf(stored); before.Key() != "" && now.Key() == "" {
		return nil, &work.InvalidError{What: "its args", Value: before.String(),
			Remedy: "give the Inspector the codec that seals (work.Codecs), so that the new ones are sealed too"}
	}
	return stored, nil
}

// changeArgs is false when the record is not as it was read, or somebody holds the job.
func (v *view) changeArgs(ctx context.Context, seen *seenJob, args []byte) (bool, error) {
	edited, err := record.WithArgs(seen.Record, args)
	if err != nil {
		return false, err
	}
	amended, err := v.store.Amend(ctx, rdb.Amendment{ID: seen.ID, Read: seen.Record, New: edited})
	if err == nil && amended == rdb.AmendSteps {
		err = &StepsError{ID: seen.ID}
	}
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
