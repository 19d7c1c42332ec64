package browsertest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func alertDeeds() map[string]deed {
	silenced := func(want ...string) func(*testing.T, *site) {
		return func(t *testing.T, s *site) {
			_, silences, err := s.inspector.Incidents(s.ctx())
			require.NoError(t, err)
			var rules []string
			for _, silence := range silences {
				rules = append(rules, silence.Rule)
			}
			assert.Equal(t, want, rules)
		}
	}
	return map[string]deed{
		"silence an alert": {nil, func(p *tab, _ *site) {
			p.visit("/alerts")
			p.submit("alert-silence?rule=no-workers", "Silence")
		}, silenced("no-workers")},
		"hear an alert again": {func(s *site) {
			require.NoError(s.t, s.inspector.SilenceAlert(s.ctx(), "no-workers", time.Hour, "ann"))
		}, func(p *tab, _ *site) {
			p.visit("/alerts")
			p.submit("alert-hear?rule=no-workers", "Tell again")
		}, silenced()},
	}
}
