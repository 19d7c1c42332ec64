// Package shop is a small part of a program, with tests that use package worktest.
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

// Mailer is what the jobs need from outside; a test has one of its own.
type Mailer interface {
	Send(ctx context.Context, address, text string) error
}

// Context is what every job gets a copy of.
type Context struct{ Mailer Mailer }

// NewPool makes the pool of the shop: main gives it the options of production, and a test those of its Redis.
func NewPool(mailer Mailer, opts work.WorkerOptions) *work.WorkerPool {
	return work.NewWorkerPool(Context{Mailer: mailer}, 10, opts).
		JobWithOptions("thank", work.JobOptions{Retries: 5}, (*Context).Thank).
		Job("ask for a review", (*Context).AskForReview)
}

// Buy is what the web server calls: it says what is to happen, and does none of it.
func Buy(ctx context.Context, enq *work.Enqueuer, orderID int64, address string) error {
	if _, err := enq.SourcedEnqueue(ctx, "thank", orderID, address); err != nil {
		return err
	}
	_, err := enq.SourcedEnqueueIn(ctx, "ask for a review", orderID, 14*24*time.Hour, address)
	return err
}

// Thank writes to the customer, and tries again when that fails.
func (c *Context) Thank(ctx context.Context, job *work.Job, address string) error {
	if address == "" {
		return work.Bury(ErrNoAddress) // trying again would not help
	}
	return c.Mailer.Send(ctx, address, fmt.Sprintf("thank you for order %d", job.SourceID))
}

// AskForReview writes to the customer, two weeks later.
func (c *Context) AskForReview(ctx context.Context, job *work.Job, address string) error {
	return c.Mailer.Send(ctx, address, fmt.Sprintf("how was order %d?", job.SourceID))
}
