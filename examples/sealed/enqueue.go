package main

import (
	"context"

	"github.com/265d0351/work"
	"github.com/265d0351/work/seal"
)

// Card is what nobody else may see.
type Card struct {
	Number string `json:"number"`
}

// enqueue is a program that enqueues, with the keys that it has.
func enqueue(ctx context.Context, redis string, keys seal.Keys, number string) (string, error) {
	sealer, err := seal.New(keys)
	if err != nil {
		return "", err
	}
	enq, err := work.NewEnqueuer(redis, work.Namespace("example-sealed"), work.Codecs(sealer))
	if err != nil {
		return "", err
	}
	defer enq.Close() //lint:ignore errcheck nothing is under way
	receipt, err := enq.Enqueue(ctx, "charge", Card{number})
	return receipt.ID, err
}
