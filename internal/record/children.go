package record

// MaxChildren is how many of the jobs that a handler has enqueued a trail names.
const MaxChildren = 20

// Children are the jobs that the handler of a job has enqueued, as far as they are kept.
type Children struct {
	IDs   []string `json:"ids,omitempty"`   // the last MaxChildren, in the order in which they were stored
	Count int      `json:"count,omitempty"` // all of them
}

// Add notes one more.
func (c *Children) Add(id string) {
	if len(c.IDs) == MaxChildren {
		c.IDs = append(c.IDs[:0], c.IDs[1:]...)
	}
	c.IDs = append(c.IDs, id)
	c.Count = min(c.Count+1, MaxCount)
}

// With returns those, and behind them those of a later attempt. Neither is changed.
func (c *Children) With(later Children) *Children {
	if later.Count == 0 {
		return c
	}
	both := Children{}
	if c != nil {
		both = Children{IDs: append([]string(nil), c.IDs...), Count: c.Count}
	}
	named := both.Count
	for _, id := range later.IDs {
		both.Add(id)
	}
	both.Count = min(named+later.Count, MaxCount)
	return &both
}
