package rdb

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/265d0351/work/internal/needs"
)

// ClaimCursor is where the next page of claims begins. The zero value is the beginning, oldest first.
type ClaimCursor struct {
	Newest bool
	At     int64 // ms: when the last one was claimed
	ID     string
}

// MoveTo puts the cursor behind a claim.
func (c *ClaimCursor) MoveTo(h Holding) { c.At, c.ID = h.Since.UnixMilli(), h.ID }

// ClaimPage reads up to n claims behind the cursor, of jobs of one name or, with "", of all, by the time of the claim,
// and tells how many there are. The index of claims has no order, so all of it is read each time: that is what runs in
// the namespace, not what waits.
func (s *Store) ClaimPage(ctx context.Context, name string, cursor ClaimCursor, n int) (page []Holding, total int,
	err error) {
	seen := map[string]bool{} // HSCAN may tell of one twice
	order := func(a, b Holding) int { return cursor.order(a.Since.UnixMilli(), a.ID, b) }
	err = s.eachClaim(ctx, func(h Holding) {
		if name != "" && needs.Name(h.Queue) != name || seen[h.ID] {
			return
		}
		seen[h.ID] = true
		if cursor.ID != "" && cursor.order(cursor.At, cursor.ID, h) >= 0 {
			return
		}
		page = append(page, h)
		if len(page) >= 4*n+MaxBatch {
			slices.SortFunc(page, order)
			page = page[:n]
		}
	})
	slices.SortFunc(page, order)
	return page[:min(len(page), n)], len(seen), err
}

func (c *ClaimCursor) order(at int64, id string, h Holding) int {
	order := cmp.Or(cmp.Compare(at, h.Since.UnixMilli()), strings.Compare(id, h.ID))
	if c.Newest {
		return -order
	}
	return order
}

// ClaimsByQueue counts what is claimed of each queue.
func (s *Store) ClaimsByQueue(ctx context.Context) (map[string]int, error) {
	counts, seen := map[string]int{}, map[string]bool{}
	err := s.eachClaim(ctx, func(h Holding) {
		if !seen[h.ID] {
			seen[h.ID] = true
			counts[h.Queue]++
		}
	})
	return counts, err
}

// eachClaim walks over the index of claims with HSCAN. Claims that come or go meanwhile may be missed, and one may be
// visited twice.
func (s *Store) eachClaim(ctx context.Context, visit func(Holding)) error {
	for cursor := "0"; ; {
		next, page, err := s.Holdings(ctx, cursor)
		if err != nil {
			return err
		}
		for _, h := range page {
			visit(h)
		}
		if cursor = next; cursor == "0" {
			return nil
		}
	}
}
