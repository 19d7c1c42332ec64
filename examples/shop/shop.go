// Package shop is a small part of a program: jobs with types, as package work.Kind has them, and tests of them that use
// package worktest.
package shop

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
)

// ErrNoAddress says that there is nobody to write to, now or later.
var ErrNoAddress = errors.New("the customer has no address")

// Order is what was bought. There is one job of each kind for an order, whatever else it says.
type Order struct {
	ID      int64    `json:"id" work:"unique"`
	Address string   `json:"address"`
	Items   []string `json:"items"`
}

// Day is one whose orders are summed up; zero is the day before the job runs.
type Day struct{ Date string }

// The jobs of the shop. A program that only enqueues needs no more than these.
var (
	Ship         = work.Define[Order]("ship", work.JobOptions{StrictArgs: true})
	Thank        = work.Define[Order]("thank", work.JobOptions{Retries: 5})
	AskForReview = work.Define[Order]("ask for a review")
	SumUp        = work.DefineResult[Day, int]("sum up", work.JobOptions{Retention: time.Hour})
)

// Context is what every job gets a copy of: what the jobs need from outside, of which a test has its own.
type Context struct {
	Send  func(ctx context.Context, address, text string) error
	Count func(ctx context.Context, date string) (int, error)
}

// NewPool makes the pool of the shop: main gives it the options of production, and a test those of its Redis.
func NewPool(c Context, opts work.WorkerOptions) *work.WorkerPool {
	pool := work.NewWorkerPool(c, 10, opts)
	work.Handle(pool, Ship, (*Context).Ship)
	work.Handle(pool, Thank, (*Context).Thank)
	work.Handle(pool, AskForReview, (*Context).AskForReview)
	work.HandleResult(pool, SumUp, (*Context).SumUp)
	return SumUp.Periodic(pool, "CRON_TZ=Europe/Berlin 0 6 * * *", Day{})
}

// Ship has the customer thanked, and asked two weeks later.
func (c *Context) Ship(ctx context.Context, order Order) error {
	enq := work.EnqueuerFromContext(ctx)
	if _, err := Thank.Enqueue(ctx, enq, order); err != nil {
		return err
	}
	_, err := AskForReview.EnqueueIn(ctx, enq, 14*24*time.Hour, order)
	return err
}

// Thank writes to the customer, and tries again when that fails.
func (c *Context) Thank(ctx context.Context, order Order) error {
	if order.Address == "" {
		return work.Bury(ErrNoAddress) // trying again would not help
	}
	return c.Send(ctx, order.Address, fmt.Sprintf("thank you for order %d", order.ID))
}

// AskForReview writes to the customer, two weeks later.
func (c *Context) AskForReview(ctx context.Context, order Order) error {
	return c.Send(ctx, order.Address, fmt.Sprintf("how was order %d?", order.ID))
}

// SumUp returns how many orders there were on a day.
func (c *Context) SumUp(ctx context.Context, day Day) (int, error) {
	if day.Date == "" {
		day.Date = work.JobFromContext(ctx).RunAt.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return c.Count(ctx, day.Date)
}
