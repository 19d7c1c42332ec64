package work

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/265d0351/work/objects"
)

// fillIn reads the result of an outcome that is an object.
func (e *Enqueuer) fillIn(ctx context.Context, id string, kept *outcome) error {
	l := e.core.lanes
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	err := l.insist(ctx, objects.MaxSize, func(ctx context.Context) error {
		content, err := e.core.uploads.store.Get(ctx, objects.Hash(kept.Object))
		kept.Result = json.RawMessage(content)
		return err
	})
	if err != nil {
		return fmt.Errorf("the result of job %s is the object %s, which cannot be read: %w", quoted(id),
			quoted(kept.Object), err)
	}
	return nil
}
