package intake

import "context"

// Bring brings an object that a program has stored itself from partition 0 to another one. The error is that of Fetch
// where it is not to be had.
func (in *Intake) Bring(ctx context.Context, partition int, hash string) error {
	content, err := in.lanes.Fetch(ctx, hash)
	if err != nil {
		return err
	}
	in.lanes.mu.Lock()
	to := in.lanes.site(partition).Uploads
	in.lanes.mu.Unlock()
	to.Forget(hash)
	return to.Ensure(ctx, hash, content)
}
