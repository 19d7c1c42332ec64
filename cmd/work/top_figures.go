package main

import (
	"time"

	"github.com/265d0351/work"
)

// topFigures are what one reading has found, and what --json prints.
type topFigures struct {
	AsOf       time.Time         `json:"as_of"`      // Redis' clock
	AllPaused  bool              `json:"all_paused"` // all queues are, beside those that are paused one by one
	Counts     work.Counts       `json:"counts"`
	Processors topProcessors     `json:"processors"`
	Rates      topRates          `json:"rates"`
	Queues     []topQueue        `json:"queues"`
	Workers    []work.WorkerInfo `json:"workers"`
	Errors     []work.ErrorGroup `json:"errors"`  // the most frequent first; nil where they were not read
	Minutes    []topMinute       `json:"minutes"` // the last hour, the minute under way last
}

// topProcessors are those of workers with a heartbeat.
type topProcessors struct {
	Busy  int `json:"busy"` // jobs that these workers hold; with a prefetch it may be more than Total
	Total int `json:"total"`
}

// topRates are per second: over the last 5 s of a live view, over the last minute where there was only one reading.
type topRates struct {
	Done   float64 `json:"done"`
	Failed float64 `json:"failed"` // attempts, the last ones of jobs that died included
	Dead   float64 `json:"dead"`
}

// topQueue is a queue, with what ended in the last sixty seconds.
type topQueue struct {
	work.QueueInfo
	LastMinute topRates `json:"last_minute"` // counts, not per second
}

// topMinute is what ended in one minute.
type topMinute struct {
	At time.Time `json:"at"`
	topCount
}

// topCount counts attempts that ended.
type topCount struct {
	Done   int64 `json:"done"`
	Failed int64 `json:"failed"` // with those that were the last one
	Dead   int64 `json:"dead"`
}

func (c topCount) plus(o topCount) topCount {
	return topCount{Done: c.Done + o.Done, Failed: c.Failed + o.Failed, Dead: c.Dead + o.Dead}
}

func (c topCount) minus(o topCount) topCount {
	return topCount{Done: c.Done - o.Done, Failed: c.Failed - o.Failed, Dead: c.Dead - o.Dead}
}

// grownFrom is what came since before. Where there is less than before the history was lost, and all of it is new.
func (c topCount) grownFrom(before topCount) topCount {
	if grown := c.minus(before); min(grown.Done, grown.Failed, grown.Dead) >= 0 {
		return grown
	}
	return c
}

// times is a part of it, or what it is in another unit of time.
func (c topCount) times(factor float64) topRates {
	return topRates{Done: float64(c.Done) * factor, Failed: float64(c.Failed) * factor, Dead: float64(c.Dead) * factor}
}
