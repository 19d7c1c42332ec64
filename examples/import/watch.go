package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/flow"
)

// watch tells the program when the job waits for its approval.
func watch(waits chan<- string) work.Observer {
	return work.ObserverFunc(func(e event.Event) {
		snoozed, is := e.(event.JobSnoozed)
		var waiting *work.WaitingError
		if is && errors.As(snoozed.Err, &waiting) {
			fmt.Println("waits:", waiting.Name)
			if waiting.Name == approved.Name() {
				waits <- snoozed.ID
			}
		}
	})
}

// show prints how far a batch is, until it has ended. It is looked at now and then, as a page would; who only needs the
// end calls flow.Wait.
func show(ctx context.Context, enq *work.Enqueuer, id string) error {
	looks := time.NewTicker(10 * time.Millisecond)
	defer looks.Stop()
	for last := ""; ; <-looks.C {
		p, err := flow.Read(ctx, enq, id)
		if errors.Is(err, flow.ErrNoFlow) {
			continue // it is not stored yet
		}
		if err != nil {
			return err
		}
		if now := fmt.Sprintf("rows: %d of %d", p.Done, p.Total); now != last && p.State != flow.Filling {
			fmt.Println(now)
			last = now
		}
		if p.State.Ended() {
			return nil
		}
	}
}
