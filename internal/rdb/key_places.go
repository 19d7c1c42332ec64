package rdb

import (
	"context"
	"slices"

	"github.com/265d0351/work/internal/redisconn"
)

var seatScript = redisconn.Load("limit/seat")

// countField is the rule of keys that is none: it says whether what runs is counted. While no key has a rule that
// costs too much.
const countField = "\x00"

// countDone is what it says then; before, it names the count that is under way.
const countDone = "done"

// SeatRunning gives jobs that workers hold the places of their keys, which they have not if they were claimed while no
// key had a rule. What is claimed meanwhile must be given one already, so that none is left out.
func (s *Store) SeatRunning(ctx context.Context) error {
	for cursor := "0"; ; {
		next, page, err := s.Holdings(ctx, cursor)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(page, MaxBatch) {
			args := make([]any, len(part))
			for i := range part {
				args[i] = part[i].ID
			}
			if _, err := redisconn.Do(ctx, s.driver, redisconn.Call{Script: seatScript,
				Keys: []string{s.keys.claimed, s.keys.turning, s.keys.keyed, s.keys.holding}, Args: args}); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "0" {
			return nil
		}
	}
}

// RecountPlaces does so where places are kept: for jobs that lost theirs by a failover.
func (s *Store) RecountPlaces(ctx context.Context) error {
	count, err := s.field(ctx, s.keys.keyrules, countField)
	if err != nil || string(count) != countDone {
		return err
	}
	return s.SeatRunning(ctx)
}

// countRunning counts the jobs of a line that run, of each key.
func (s *Store) countRunning(ctx context.Context, l *KeyLine) error {
	l.running, l.Held = map[string]int{}, 0
	for cursor := "0"; ; {
		next, page, err := s.Holdings(ctx, cursor)
		if err != nil {
			return err
		}
		var ids []string
		for _, holding := range page {
			if holding.Queue == l.queue {
				ids = append(ids, holding.ID)
			}
		}
		for part := range slices.Chunk(ids, MaxBatch) {
			turns, err := s.turnsOf(ctx, part)
			if err != nil {
				return err
			}
			for _, turn := range turns {
				if turn.Key != "" {
					l.running[turn.Key]++
					l.Held++
				}
			}
		}
		if cursor = next; cursor == "0" {
			return nil
		}
	}
}
