package api

import (
	"context"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/webui/internal/visit"
)

// onKey does something to a key of a queue.
func onKey(v *visit.Visit, do func(ctx context.Context, name, key string) error) error {
	name, err := v.Target("name")
	if err != nil {
		return err
	}
	key, err := v.Target("key")
	if err != nil {
		return err
	}
	return did(v, deed{Target: name, Effect: "key " + key}, do(v.Ctx(), name, key))
}

// setKeyLimit sets all of the limit: what is left out is not limited.
func setKeyLimit(v *visit.Visit) error {
	var limit struct {
		Concurrent int      `json:"concurrent"`
		Rate       int      `json:"rate"`
		Per        duration `json:"per"`
		Burst      int      `json:"burst"`
	}
	if err := decode(v, &limit); err != nil {
		return err
	}
	return onKey(v, func(ctx context.Context, name, key string) error {
		if err := v.KnownName(name); err != nil {
			return err
		}
		return v.Inspector.SetKeyLimit(ctx, name, key, work.Limit{
			Concurrent: limit.Concurrent, Rate: limit.Rate, Per: time.Duration(limit.Per), Burst: limit.Burst,
		})
	})
}

func stopKey(v *visit.Visit) error {
	return onKey(v, func(ctx context.Context, name, key string) error {
		if err := v.KnownName(name); err != nil {
			return err
		}
		return v.Inspector.StopKey(ctx, name, key)
	})
}

func resetKeyLimit(v *visit.Visit) error { return onKey(v, v.Inspector.ResetKeyLimit) }
