package rdb

import (
	"context"
	"strings"
	"time"
)

// Bequest is a claim of a dead worker.
type Bequest struct {
	Element string
	Number  int64     // of its fetch
	Fetched time.Time // by Redis' clock; zero where that was not asked for, or nothing claims the job
}

// Bequests are the newest claims of one queue of a dead worker, oldest of them first.
type Bequests struct {
	Queue  string
	Claims []Bequest // at most 2,000: more than it may hold
	Err    error     // with which Redis refused to tell
}

// Bequests returns what this worker held of those of the queues of which it held any.
func (w *Worker) Bequests(ctx context.Context, queues []string, timed bool) ([]Bequests, error) {
	holding, err := w.Holding(ctx, queues)
	if err != nil {
		return nil, err
	}
	lists, err := w.InProcess(ctx, holding, maxSurvey)
	if err != nil {
		return nil, err
	}
	left := make([]Bequests, len(lists))
	var ids []string
	for i, list := range lists {
		left[i] = Bequests{Queue: holding[i], Claims: make([]Bequest, len(list.Elements)), Err: list.Err}
		for j, element := range list.Elements {
			number, id, _ := strings.Cut(element, ":")
			left[i].Claims[j], ids = Bequest{Element: element, Number: toNumber(number)}, append(ids, id)
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
		since[h.Element()] = h.Since
	}
	for _, of := range left {
		for i := range of.Claims {
			of.Claims[i].Fetched = since[of.Claims[i].Element]
		}
	}
	return left, nil
}
