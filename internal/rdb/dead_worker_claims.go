package rdb

import (
	"context"
	"strings"
	"time"
)

// DeadClaim is a claim of a dead worker.
type DeadClaim struct {
	Element string
	Number  int64     // of its fetch
	Fetched time.Time // by Redis' clock; zero where that was not asked for, or nothing claims the job
}

// DeadClaims are the newest claims of one queue of a dead worker, oldest of them first.
type DeadClaims struct {
	Queue  string
	Claims []DeadClaim // at most maxSurvey: more than it may hold
	Err    error       // with which Redis refused to tell
}

// DeadClaims returns what this worker held of those of the queues of which it held any.
func (w *Worker) DeadClaims(ctx context.Context, queues []string, timed bool) ([]DeadClaims, error) {
	holding, err := w.Holding(ctx, queues)
	if err != nil {
		return nil, err
	}
	lists, err := w.InProcess(ctx, holding, maxSurvey)
	if err != nil {
		return nil, err
	}
	left := make([]DeadClaims, len(lists))
	var ids []string
	for i, list := range lists {
		left[i] = DeadClaims{Queue: holding[i], Claims: make([]DeadClaim, len(list.Elements)), Err: list.Err}
		for j, element := range list.Elements {
			number, id, _ := strings.Cut(element, ":")
			left[i].Claims[j], ids = DeadClaim{Element: element, Number: toNumber(number)}, append(ids, id)
		}
	}
	if !timed {
		return left, nil
	}
	held, err := w.store.claimsOf(ctx, w.ID, ids)
	if err != nil {
		return nil, err
	}
	since := make(map[string]time.Time, len(held))
	for _, h := range held {
		since[h.Element()] = h.fetched
	}
	for _, of := range left {
		for i := range of.Claims {
			of.Claims[i].Fetched = since[of.Claims[i].Element]
		}
	}
	return left, nil
}
