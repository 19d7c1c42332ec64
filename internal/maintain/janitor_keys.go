package maintain

import (
	"context"

	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb"
)

// AgreeKeys walks a part of what is kept of the jobs of keys. Places of keys that nobody has are given on, and so are
// those that are free while jobs wait for them: scripts do so themselves, and this is for what a failover took, an
// older program did, or somebody's hand.
func (j *Janitor) AgreeKeys(ctx context.Context) error {
	mender := rdb.Mender{Store: j.env.Store, Mend: true}
	var failed error
	for _, set := range []rdb.KeySet{rdb.KeysHolding, rdb.KeysParked, rdb.KeysLined} {
		next, _, err := mender.AgreeKeys(ctx, set, j.keys[set])
		if failed = excerpt.Join(failed, err); err == nil {
			j.keys[set] = next
		}
	}
	return failed
}
