package alerts

import (
	"context"
	"errors"
	"time"

	"github.com/265d0351/work/inspect"
)

// tellAway tells that Redis does not answer, when that has lasted, and when it is over.
func (s *sender) tellAway(ctx context.Context, why error) {
	now, of := s.clock(), &s.away
	switch {
	case why == nil && of.Told.IsZero():
		*of = inspect.Incident{}
		return
	case why != nil && of.Since.IsZero():
		*of = inspect.Incident{Rule: string(RedisAway), Bad: true, Since: now, Link: "redis",
			Text: "Redis does not answer: no job can be stored or begun"}
	}
	due := why == nil || of.Told.IsZero() && now.Sub(of.Since) >= s.After
	if !due || of.Tries >= maxTries || now.Before(of.Next) {
		return
	}
	if err := s.tell(ctx, s.message(*of, Message{At: now, Over: why == nil})); err != nil {
		of.Tries++
		of.Next = now.Add(min(s.Every<<min(of.Tries, 10), maxBackoff))
		s.Logger.Error("alerts: somebody should have been told", "rule", of.Rule, "text", of.Text, "tries", of.Tries,
			"error", errors.Join(err, why))
		return
	}
	of.Tries, of.Next, of.Told = 0, time.Time{}, now
	if why == nil {
		*of = inspect.Incident{}
	}
}
