package thoonk

// OnWait makes a client tell when it begins to wait in Redis.
func OnWait(tell func()) Option {
	return func(c *Client) error {
		c.waits = tell
		return nil
	}
}
