package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/excerpt"
	"github.com/265d0351/work/internal/rdb/peopledb"
)

// Incident is an alert that stands, as the program that sends alerts has seen it: see package webui/alerts.
type Incident struct {
	Rule  string    `json:"rule"`
	Text  string    `json:"text"`
	Link  string    `json:"link,omitzero"`
	Bad   bool      `json:"bad,omitzero"`
	Since time.Time `json:"since"`          // when it was first seen, by Redis' clock as all times here
	Seen  time.Time `json:"seen"`           // when it was last seen
	Told  time.Time `json:"told,omitzero"`  // when somebody was told; zero: not yet
	Tries int       `json:"tries,omitzero"` // to tell it, that have failed
	Next  time.Time `json:"next,omitzero"`  // when it is tried again after those
}

// Silence is a rule of alerts that is not told until then.
type Silence struct {
	Rule  string    `json:"rule"`
	Until time.Time `json:"until"`
	By    string    `json:"by,omitzero"` // who has said so
}

// maxSilence is how long one may be: who wants a rule never to be told had better turn it off where it is sent to.
const maxSilence = peopledb.SilenceKept

// Incidents returns the alerts that stand, the oldest first, and which rules are silenced, by their names. Where no
// program sends alerts there are no incidents; docs/dashboard.md says how it is done.
func (i *Inspector) Incidents(ctx context.Context) ([]Incident, []Silence, error) {
	if i.unusable != nil {
		return nil, nil, i.unusable
	}
	v := i.view(0)
	now, err := v.store.Time(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("the incidents cannot be read: %w", err)
	}
	stand, silenced, err := peopledb.Of(v.store).Incidents(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("the incidents cannot be read: %w", err)
	}
	var incidents []Incident
	for rule, text := range stand {
		incident := Incident{}
		if json.Unmarshal([]byte(text), &incident) == nil {
			incident.Rule = rule
			incidents = append(incidents, incident)
		}
	}
	slices.SortFunc(incidents, func(a, b Incident) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Rule, b.Rule))
	})
	return incidents, silencesOf(silenced, now), nil
}

func silencesOf(texts map[string]string, now time.Time) []Silence {
	var silences []Silence
	for rule, text := range texts {
		silence := Silence{}
		if json.Unmarshal([]byte(text), &silence) == nil && silence.Until.After(now) {
			silence.Rule = rule
			silences = append(silences, silence)
		}
	}
	slices.SortFunc(silences, func(a, b Silence) int { return strings.Compare(a.Rule, b.Rule) })
	return silences
}

// SilenceAlert has a rule of alerts not be told for so long, at most 90 days; 0 has it be told again. It does not ask
// whether there is such a rule. by says who wants it, and may be empty. Silences of all partitions are in the first.
func (i *Inspector) SilenceAlert(ctx context.Context, rule string, within time.Duration, by string) error {
	switch {
	case i.unusable != nil:
		return i.unusable
	case rule == "" || len(rule) > 60:
		return &work.InvalidError{What: "the rule of an alert", Value: excerpt.Brief(rule),
			Remedy: "use one of up to 60 bytes"}
	case within < 0 || within > maxSilence:
		return &work.InvalidError{What: "the time of a silence", Value: within.String(), Remedy: "use up to 2160h"}
	}
	v := i.view(0)
	now, err := v.store.Time(ctx)
	text := ""
	if err == nil && within > 0 {
		encoded, _ := json.Marshal(Silence{Rule: rule, Until: now.Add(within), By: cut(by, auditTarget)})
		text = string(encoded)
	}
	if err == nil {
		err = peopledb.Of(v.store).Silence(ctx, rule, text)
	}
	if err != nil {
		return fmt.Errorf("alert %s was not silenced: %w", excerpt.Brief(rule), err)
	}
	return nil
}
