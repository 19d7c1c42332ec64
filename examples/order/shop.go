package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
)

// shop is the context of the jobs.
type shop struct{}

// Charge is what the shipment asks for.
type Charge struct {
	Receipt string
	Cents   int
}

// Charge takes the money, and returns what others of the flow may ask for.
func (s *shop) Charge(order int64) (Charge, error) {
	return Charge{Receipt: fmt.Sprintf("receipt-%d", order), Cents: 1999}, nil
}

// Pick takes the goods from the shelf.
func (s *shop) Pick(order int64) error { return nil }

// Ship runs when both are done. There is no carrier for orders above 100.
func (s *shop) Ship(ctx context.Context, job *work.Job, order int64) error {
	charge, err := flow.Result[Charge](ctx, job, "charge")
	if err != nil {
		return err
	}
	if order > 100 {
		return work.Bury(errors.New("no carrier takes it")) // at once to the morgue: no attempt would help
	}
	fmt.Printf("order %d: shipped, paid by %s\n", order, charge.Receipt)
	return nil
}

// Notify tells the customer, also where nothing was shipped.
func (s *shop) Notify(order int64) error {
	fmt.Printf("order %d: the customer is told\n", order)
	return nil
}

// Close runs once when all is done.
func (s *shop) Close(order int64) error {
	fmt.Printf("order %d: closed\n", order)
	return nil
}

// Refund runs once when the flow has ended and some of it is dead: it may ask for the result of any member.
func (s *shop) Refund(ctx context.Context, job *work.Job, order int64) error {
	charge, err := flow.Result[Charge](ctx, job, "charge")
	var none *flow.NoResultError
	if errors.As(err, &none) {
		return nil // it was never charged
	}
	if err != nil {
		return err
	}
	fmt.Printf("order %d: %d cents are paid back\n", order, charge.Cents)
	return nil
}
