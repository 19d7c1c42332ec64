package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/record"
)

// checkElements compares in-process lists with the index of claims. Lists of workers that nobody knows are emptied.
func (d *doctor) checkElements(ctx context.Context) error {
	for _, list := range d.keys.lists {
		if err := d.checkList(ctx, list); err != nil {
			return err
		}
	}
	return nil
}

// checkList goes from the newest element to the oldest, so that of those that are given back the oldest is in front.
func (d *doctor) checkList(ctx context.Context, list heldList) error {
	known := d.registered[list.worker] || d.dead[list.worker]
	for from := 0; ; {
		page, err := d.store.Elements(ctx, list.worker, list.queue, from)
		if err != nil || len(page) == 0 {
			return err
		}
		from += len(page)
		var suspects []rdb.Element
		for _, element := range page {
			if !known || !element.Claimed() {
				suspects = append(suspects, element)
			}
		}
		answers, err := d.mend.AgreeClaims(ctx, suspects)
		if err != nil {
			return err
		}
		for i, answer := range answers {
			if d.findElement(suspects[i], answer) {
				from-- // it is gone from the list
			}
		}
	}
}

// findElement reports what is wrong with an element, and returns true when it was removed.
func (d *doctor) findElement(e rdb.Element, answer string) (removed bool) {
	f := Finding{Check: CheckElement, Key: d.store.FullName("worker:" + e.Worker + ":" + inProcess + e.Queue), ID: e.ID,
		Queue: e.Queue, Repaired: d.repair}
	switch answer {
	case "unclaimed":
		f.Detail = fmt.Sprintf("worker %s holds it as %s, and nothing claims it", e.Worker, e.Text())
	case "elsewhere":
		f.Detail = fmt.Sprintf("worker %s holds it as %s, and it is in another place", e.Worker, e.Text())
	case "ghost":
		f.Check, f.Detail = CheckGhost, fmt.Sprintf("worker %s holds it as %s, and it has no record", e.Worker,
			e.Text())
	case "stray":
		f.Check, f.Detail = CheckUnknownWorker,
			fmt.Sprintf("worker %s, which is neither registered nor being taken apart, holds it as %s", e.Worker,
				e.Text())
	default:
		return false // all is well, or a broken key is in the way, which is a finding of its own
	}
	d.explained[e.ID] = true
	d.find(f)
	return d.repair && answer != "unclaimed"
}

// checkClaims looks for claims that nobody holds.
func (d *doctor) checkClaims(ctx context.Context) error {
	now, err := d.store.Time(ctx)
	if err != nil {
		return err
	}
	return d.walk(ctx, "claimed", func(page []rdb.Field) error {
		claims := make([]rdb.Holding, 0, len(page))
		for _, field := range page {
			h := rdb.ParseHolding(field.Name, field.Value)
			if !d.broken["worker:"+h.Worker+":"+inProcess+h.Queue] {
				claims = append(claims, h)
			}
		}
		unsupported, err := d.store.Unsupported(ctx, claims)
		if err != nil {
			return err
		}
		d.noteClaims(claims, unsupported, now)
		for _, h := range unsupported {
			if d.explained[h.ID] && !d.repair {
				continue
			}
			d.explained[h.ID] = true
			if err := d.removeClaim(ctx, h); err != nil {
				return err
			}
		}
		return nil
	})
}

// noteClaims keeps the claims that their workers are to be asked about.
func (d *doctor) noteClaims(claims, unsupported []rdb.Holding, now time.Time) {
	for _, h := range claims {
		if d.registered[h.Worker] && now.Sub(h.Since) > rdb.ClaimSettled && !slices.Contains(unsupported, h) {
			d.claims[h.Worker] = append(d.claims[h.Worker], h)
		}
	}
}

// removeClaim removes one claim. The queue of one that cannot be read is in the job's record.
func (d *doctor) removeClaim(ctx context.Context, h rdb.Holding) error {
	f := Finding{Check: CheckClaim, Key: d.store.FullName("claimed"), ID: h.ID, Queue: h.Queue}
	switch {
	case h.Queue == "":
		f.Detail = "its claim cannot be read"
	case d.registered[h.Worker]:
		f.Detail = fmt.Sprintf("worker %s claims it, and does not hold it", h.Worker)
	default:
		f.Check, f.Detail = CheckUnknownWorker,
			fmt.Sprintf("worker %s, which is neither registered nor being taken apart, claims it", h.Worker)
	}
	if h.Queue == "" {
		name, readable, err := record.QueueOf(ctx, d.store, h.ID)
		if err != nil {
			return err
		}
		if !readable {
			f.Detail, f.Remedy = f.Detail+", nor can its record", "correct the record, or delete the job"
			d.find(f)
			return nil
		}
		h.Queue = name
		if name == "" {
			h.Queue = "unknown" // without a record only the claim is removed, so any name will do
		}
	}
	if d.repair {
		answers, err := d.mend.RemoveClaims(ctx, []rdb.Holding{h})
		if err != nil || answers[0] == "ok" {
			return err
		}
		f.Repaired = answers[0] != rdb.Blocked
	}
	d.find(f)
	return nil
}
