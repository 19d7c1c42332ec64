package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/flow"
)

// Rows is what a download brings: small here. What is large belongs elsewhere, and where to find it into the step.
type Rows struct {
	Names []string
	Price int
}

// Approval is what somebody sends to the job.
type Approval struct{ By string }

var (
	approved = work.DefineMessage[Approval]("approval")
	stored   = work.DefineMessage[bool]("rows are stored")
)

// importer is the context of the jobs; bank forgets nothing, so it would notice a second charge.
type importer struct{ bank map[string]int }

// Import runs from its beginning each time. What stands in a step is done once.
func (im *importer) Import(ctx context.Context, job *work.Job, file string) (string, error) {
	rows, err := work.Step(ctx, "download", func(context.Context) (Rows, error) {
		fmt.Println("download", file)
		return Rows{Names: []string{"ann", "bob", "cy"}, Price: 3}, nil
	})
	if err != nil {
		return "", err
	}
	_, err = work.Step(ctx, "charge", func(context.Context) (int, error) {
		fmt.Println("charge", rows.Price)
		im.bank[job.ID]++
		return rows.Price, nil
	})
	if err != nil {
		return "", err
	}
	// A batch of any number of jobs, by an id that makes it the same in each attempt. Its end is a message to this job.
	var entries []work.Entry
	for _, name := range rows.Names {
		entries = append(entries, work.Entry{Name: "row", Args: []any{name}})
	}
	_, err = flow.Batch(ctx, work.EnqueuerFromContext(ctx), "rows of "+job.ID, slices.Values(entries),
		flow.OnDone("rows_stored", job.ID))
	if err != nil {
		return "", err
	}
	if _, err := stored.Receive(ctx); err != nil { // meanwhile nobody holds this job
		return "", err
	}
	if err := work.Sleep(ctx, "cool-down", 100*time.Millisecond); err != nil {
		return "", err // the job is scheduled, and needs no worker
	}
	approval, err := approved.ReceiveWithin(ctx, time.Hour)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d rows, approved by %s, charged %d time", len(rows.Names), approval.By, im.bank[job.ID]), nil
}

// Row stores one row. That of bob fails at first, and is tried again.
func (im *importer) Row(job *work.Job, name string) error {
	if name == "bob" && job.Attempt == 1 {
		return work.RetryIn(0, errors.New("bob was busy"))
	}
	fmt.Println("row", name)
	return nil
}

// RowsStored runs once, when all rows are done.
func (im *importer) RowsStored(ctx context.Context, id string) error {
	return stored.Send(ctx, work.EnqueuerFromContext(ctx), id, true)
}
