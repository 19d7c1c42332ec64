package work

import "context"

// collectSteps is how much of the walk over the objects one turn of the janitor does: about so many times 100 objects,
// or 500 references.
const collectSteps = 20

// collectObjects goes on with the walk that removes what no job needs any more.
func (j *janitor) collectObjects(ctx context.Context) error {
	for range collectSteps {
		_, done, err := j.worker.pool.objects.collector.Step(ctx)
		if err != nil || done {
			return err
		}
	}
	return nil
}
