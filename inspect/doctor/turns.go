package doctor

import (
	"context"

	"github.com/265d0351/work/internal/rdb"
)

// checkTurns looks at what is kept of the jobs of keys: who has a place of its key, and who is parked.
func (d *doctor) checkTurns(ctx context.Context) error {
	said := map[string]string{
		"seat":     "it has a place of its key, and is nowhere that it may have one",
		"unlined":  "it is noted as parked, and does not wait there",
		"unparked": "it is parked, and nothing would find it",
		"free":     "it is parked, and its key has room",
	}
	for _, set := range []rdb.KeySet{rdb.KeysHolding, rdb.KeysParked, rdb.KeysLined} {
		for cursor, first := "", true; first || cursor != ""; first = false {
			next, faults, err := d.mend.AgreeKeys(ctx, set, cursor)
			if err != nil {
				return err
			}
			for _, fault := range faults {
				d.find(Finding{Check: CheckKeyPlace, Key: d.store.FullName(string(set)), ID: fault.ID,
					Queue: fault.Where, Detail: said[fault.What], Repaired: d.repair})
			}
			cursor = next
		}
	}
	return nil
}
