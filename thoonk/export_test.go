package thoonk

import "context"

// OnWait makes a client tell when it begins to wait.
func OnWait(tell func()) Option {
	return func(c *Client) error {
		c.waits = tell
		return nil
	}
}

// Look looks for jobs that have ended unheard, as is done now and then.
func (j *JobEnds[T, R]) Look(ctx context.Context) { j.endings.lookFor(ctx) }
