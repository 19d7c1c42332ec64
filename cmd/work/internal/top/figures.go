package top

import (
	"time"

	"github.com/265d0351/work/inspect"
)

// snapshot are what one reading has found, and what --json prints.
type snapshot struct {
	AsOf       time.Time            `json:"as_of"`                        // Redis' clock
	Missing    []int                `json:"missing_partitions,omitempty"` // those that did not answer to this reading
	AllPaused  bool                 `json:"all_paused"`                   // all are, beside those paused one by one
	Counts     inspect.Counts       `json:"counts"`
	Processors inspect.Processors   `json:"processors"` // of workers with a heartbeat
	Rates      rates                `json:"rates"`
	Queues     []queueFigures       `json:"queues"`
	Workers    []inspect.WorkerInfo `json:"workers"`
	Errors     []inspect.ErrorGroup `json:"errors"`  // the most frequent first; nil where they were not read
	Minutes    []minuteFigures      `json:"minutes"` // the last hour, the minute under way last
}

// rates are per second: over the last 5 s of a live view, over the last minute where there was only one reading.
type rates struct {
	Done   float64 `json:"done"`
	Failed float64 `json:"failed"` // attempts, the last ones of jobs that died included
	Dead   float64 `json:"dead"`
}

// queueFigures is a queue, with what ended in the last sixty seconds.
type queueFigures struct {
	inspect.QueueInfo
	LastMinute rates `json:"last_minute"` // counts, not per second
}

// minuteFigures is what ended in one minute.
type minuteFigures struct {
	At time.Time `json:"at"`
	endCounts
}

// endCounts counts attempts that ended.
type endCounts struct {
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"` // with those that were the last one
	Dead   int64 `json:"dead"`
}

func (c endCounts) plus(o endCounts) endCounts {
	return endCounts{Done: c.Done + o.Done, Failed: c.Failed + o.Failed, Dead: c.Dead + o.Dead}
}

func (c endCounts) minus(o endCounts) endCounts {
	return endCounts{Done: c.Done - o.Done, Failed: c.Failed - o.Failed, Dead: c.Dead - o.Dead}
}

// grownFrom is what came since before. Where there is less than before the history was lost, and all of it is new.
func (c endCounts) grownFrom(before endCounts) endCounts {
	if grown := c.minus(before); min(grown.Done, grown.Failed, grown.Dead) >= 0 {
		return grown
	}
	return c
}

// times is a part of it, or what it is in another unit of time.
func (c endCounts) times(factor float64) rates {
	return rates{Done: float64(c.Done) * factor, Failed: float64(c.Failed) * factor, Dead: float64(c.Dead) * factor}
}
