package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partly"
	"github.com/265d0351/work/internal/rdb/peopledb"
	"github.com/265d0351/work/webui/internal/format"
)

// round looks once, and tells what is to be told.
func (s *sender) round(ctx context.Context) {
	kept, now, err := s.lease(ctx)
	if ctx.Err() != nil {
		return
	}
	s.tellAway(ctx, err)
	if err != nil || !kept {
		return
	}
	if err := s.look(ctx, now); err != nil && ctx.Err() == nil {
		s.Logger.Warn("alerts: it cannot be seen what is wrong", "error", err)
	}
}

// lease makes this the one that tells, or keeps it so.
func (s *sender) lease(ctx context.Context) (kept bool, now time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, leaseLife/2)
	defer cancel()
	if now, err = s.store.Time(ctx); err == nil {
		kept, err = peopledb.Of(s.store).KeepIncidents(ctx, s.token, leaseLife)
	}
	return kept, now, err
}

func (s *sender) look(ctx context.Context, now time.Time) error {
	ctx, missing := partly.Collect(ctx)
	found, err := Look(ctx, s.inspector, s.StuckAfter)
	if err != nil {
		return err
	}
	if missing.Err() != nil {
		found = append(found, Alert{Rule: PartitionsAway, Bad: true, Link: "redis",
			Text: format.Sentence(missing.Err().Error())})
	}
	incidents, silences, err := s.inspector.Incidents(ctx)
	if err != nil {
		return err
	}
	stand := map[Rule]inspect.Incident{}
	for _, incident := range incidents {
		stand[Rule(incident.Rule)] = incident
	}
	silenced := map[Rule]bool{}
	for _, silence := range silences {
		silenced[Rule(silence.Rule)] = true
	}
	seen := map[Rule]bool{}
	for _, alert := range found {
		if (alert.Bad || s.Notes) && !seen[alert.Rule] {
			seen[alert.Rule] = true
			if err := s.stands(ctx, alert, stand[alert.Rule], silenced[alert.Rule], now); err != nil {
				return err
			}
		}
	}
	for rule, incident := range stand {
		if !seen[rule] && missing.Err() == nil { // else it may be where nobody could look
			if err := s.gone(ctx, incident, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// stands tells of an alert that has lasted, and keeps what is known of it.
func (s *sender) stands(ctx context.Context, alert Alert, of inspect.Incident, silenced bool, now time.Time) error {
	if of.Since.IsZero() {
		of = inspect.Incident{Rule: string(alert.Rule), Since: now}
	}
	of.Text, of.Link, of.Bad, of.Seen = alert.Text, alert.Link, alert.Bad, now
	if of.Told.IsZero() && !silenced && now.Sub(of.Since) >= s.After {
		told, err := s.tries(ctx, &of, Message{At: now}, now)
		if err != nil {
			return err
		}
		if told {
			of.Told = now
		}
	}
	return s.keep(ctx, of)
}

// gone tells that an alert is over which was told, when it was not seen for a while.
func (s *sender) gone(ctx context.Context, of inspect.Incident, now time.Time) error {
	if now.Sub(of.Seen) < s.After {
		return nil
	}
	if !of.Told.IsZero() {
		told, err := s.tries(ctx, &of, Message{At: now, Over: true}, now)
		if err != nil {
			return err
		}
		if !told && of.Tries < maxTries {
			return s.keep(ctx, of)
		}
	}
	return s.forget(ctx, of)
}

// tries tells a message if it is time to, and notes that of the incident which the next round must know. The error is
// that of the lease.
func (s *sender) tries(ctx context.Context, of *inspect.Incident, m Message, now time.Time) (told bool, err error) {
	if of.Tries >= maxTries || now.Before(of.Next) {
		return false, nil
	}
	if kept, err := peopledb.Of(s.store).KeepIncidents(ctx, s.token, leaseLife); err != nil || !kept {
		return false, errors.Join(err, errLeaseLost)
	}
	if err := s.tell(ctx, s.message(*of, m)); err != nil {
		of.Tries++
		of.Next = now.Add(min(s.Every<<min(of.Tries, 10), maxBackoff))
		s.Logger.Error("alerts: somebody should have been told", "rule", of.Rule, "text", of.Text, "over", m.Over,
			"tries", of.Tries, "error", err)
		return false, nil
	}
	of.Tries, of.Next = 0, time.Time{}
	return true, nil
}

var errLeaseLost = errors.New("another program tells of alerts now")

func (s *sender) message(of inspect.Incident, m Message) Message {
	m.Namespace, m.Secret = s.store.Namespace(), s.Secret
	m.Rule, m.Text, m.Bad, m.Since = Rule(of.Rule), of.Text, of.Bad, of.Since
	m.Key = "work/" + m.Namespace + "/" + of.Rule
	if s.Link != "" {
		m.Link = strings.TrimSuffix(s.Link, "/") + "/" + of.Link
	}
	return m
}

func (s *sender) keep(ctx context.Context, of inspect.Incident) error {
	text, err := json.Marshal(of)
	if err == nil {
		err = s.change(ctx, peopledb.Incident{Rule: of.Rule, Text: string(text)})
	}
	return err
}

func (s *sender) forget(ctx context.Context, of inspect.Incident) error {
	return s.change(ctx, peopledb.Incident{Rule: of.Rule})
}

func (s *sender) change(ctx context.Context, incident peopledb.Incident) error {
	kept, err := peopledb.Of(s.store).KeepIncidents(ctx, s.token, leaseLife, incident)
	if err == nil && !kept {
		err = errLeaseLost
	}
	return err
}
