package peopledb

import (
	"context"
	"slices"
	"time"

	"github.com/265d0351/work/internal/redisconn"
)

var incidentScript = redisconn.Load("alert/keep")

// IncidentsKept is for how long incidents are kept after the last change of one of them.
const IncidentsKept = 7 * 24 * time.Hour

// Incident is what is kept of an alert that stands.
type Incident struct {
	Rule string
	Text string // JSON; "" where it is over
}

// KeepIncidents takes or keeps the lease of who tells of alerts, for so long, and notes incidents that have changed. It
// is false where another token has the lease: nothing is noted then. A life of 0 gives the lease back.
func (p People) KeepIncidents(ctx context.Context, token string, life time.Duration, changed ...Incident) (bool,
	error) {
	args := []any{token, ms(life), ms(IncidentsKept)}
	for _, incident := range changed {
		args = append(args, incident.Rule, incident.Text)
	}
	value, err := redisconn.Do(ctx, p.store.Driver(), redisconn.Call{Script: incidentScript,
		Keys: []string{p.key(tellerKey), p.key(alertsKey)}, Args: args})
	n, _ := value.(int64)
	return n == 1, err
}

// Incidents are those that stand, by their rules, and until when which rules are silenced: JSON as it was set.
func (p People) Incidents(ctx context.Context) (stand, silenced map[string]string, err error) {
	values, err := p.many(ctx, []redisconn.Call{{Command: "HGETALL", Args: []any{p.key(alertsKey)}},
		{Command: "HGETALL", Args: []any{p.key(silencedKey)}}})
	if err != nil {
		return nil, nil, err
	}
	of := make([]map[string]string, len(values))
	for n, value := range values {
		r := redisconn.NewReader("HGETALL", value, nil)
		of[n] = map[string]string{}
		for pair := range slices.Chunk(r.TextsOf(value), 2) {
			of[n][pair[0]] = pair[1] // HGETALL has both of each
		}
		if r.Err() != nil {
			return nil, nil, r.Err()
		}
	}
	return of[0], of[1], nil
}

// Silence sets what is kept of a rule that is not to be told; "" takes it back.
func (p People) Silence(ctx context.Context, rule, text string) error {
	call := redisconn.Call{Command: "HSET", Args: []any{p.key(silencedKey), rule, text}}
	if text == "" {
		call = redisconn.Call{Command: "HDEL", Args: []any{p.key(silencedKey), rule}}
	}
	_, err := p.many(ctx, slices.Concat([]redisconn.Call{call},
		[]redisconn.Call{{Command: "PEXPIRE", Args: []any{p.key(silencedKey), ms(SilenceKept)}}}))
	return err
}

// SilenceKept is for how long silences are kept after the last change, and the longest that one may be.
const SilenceKept = 90 * 24 * time.Hour

func (p People) many(ctx context.Context, calls []redisconn.Call) ([]any, error) {
	replies, err := p.store.Driver().Pipeline(ctx, calls...)
	if err != nil {
		return nil, err
	}
	return redisconn.Values(replies)
}
