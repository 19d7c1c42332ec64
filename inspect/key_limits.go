package inspect

import (
	"context"
	"fmt"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/invalid"
	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/rdb"
)

// SetKeyLimit limits the jobs of one key of a name by hand, over all workers, at once and until
// [Inspector.ResetKeyLimit], whatever JobOptions.PerKey says of all keys; more than that says as well. Jobs that run go
// on. An Ordered key runs one at a time all the same. A limit that cannot be, or is none, is refused with a
// *[work.LimitError], names that share a queue and that queue with a *[work.InvalidError]. Up to 10,000 keys of a
// namespace may have limits of their own.
//
// In a namespace with partitions it is set in each that there is; after a *[PartialError] it can be repeated.
func (i *Inspector) SetKeyLimit(ctx context.Context, name, key string, wanted work.Limit) error {
	spec := limit.Spec(wanted)
	why := spec.Mistake()
	if wanted == (work.Limit{}) {
		why = "it limits nothing: ResetKeyLimit takes back what was set, StopKey lets no job begin"
	}
	if why != "" {
		return &work.LimitError{Name: name, Limit: wanted, Why: why, PerKey: true}
	}
	return i.changeKeyLimit(ctx, keyLimit{name: name, key: key, failure: "was not set"},
		func(rule *rdb.KeyRule) { rule.Limit, rule.Stopped = spec.Stored(), false })
}

// StopKey lets no more jobs of one key of a name begin, until [Inspector.ResetKeyLimit] or [Inspector.SetKeyLimit].
// Jobs that run go on, and enqueueing too; those of other keys are not concerned.
func (i *Inspector) StopKey(ctx context.Context, name, key string) error {
	return i.changeKeyLimit(ctx, keyLimit{name: name, key: key, failure: "was not set"},
		func(rule *rdb.KeyRule) { rule.Limit, rule.Stopped = rdb.Limit{}, true })
}

// ResetKeyLimit takes back what SetKeyLimit or StopKey has set: what JobOptions.PerKey says of all keys is in force for
// this one again, or nothing. Where nothing was set it does nothing.
func (i *Inspector) ResetKeyLimit(ctx context.Context, name, key string) error {
	return i.changeKeyLimit(ctx, keyLimit{name: name, key: key, failure: "was not reset", back: true},
		func(rule *rdb.KeyRule) { *rule = rdb.KeyRule{} })
}

// keyLimit is which limit is changed, and what is said where it could not be.
type keyLimit struct {
	name, key, failure string
	back               bool // to what the code says
}

func (i *Inspector) changeKeyLimit(ctx context.Context, of keyLimit, apply func(*rdb.KeyRule)) error {
	if i.unusable != nil {
		return i.unusable
	}
	err := inside.AsInvalid(invalid.JobName(of.name))
	if err == nil {
		err = inside.AsInvalid(invalid.Word("key", of.key, invalid.MaxKey))
	}
	if err == nil && !of.back {
		err = i.ownKeys(ctx, of.name)
	}
	if err == nil {
		err = i.routed(ctx, func() error {
			return each(ctx, i.served(ctx), func(v *view, ctx context.Context) error {
				return limit.KeyRule(ctx, v.store, rdb.KeyRuleOf{Queue: of.name, Key: of.key}, apply)
			})
		})
	}
	if err != nil {
		return fmt.Errorf("the limit of key %s of job %s %s: %w", excerpt.Brief(of.key), excerpt.Brief(of.name),
			of.failure, err)
	}
	return nil
}
