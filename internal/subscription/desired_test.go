package subscription_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/subscription"
)

func TestWhatIsDesiredChanges(t *testing.T) {
	t.Parallel()
	const nothing = rdb.Command("")
	for name, row := range map[string]struct {
		before, wanted, after rdb.Command
	}{
		"a pause":                     {nothing, rdb.CommandPause, rdb.CommandPause},
		"its end":                     {rdb.CommandPause, nothing, nothing},
		"the same again":              {rdb.CommandPause, rdb.CommandPause, rdb.CommandPause},
		"quiet is not forgotten":      {rdb.CommandQuiet, nothing, rdb.CommandQuiet},
		"quiet is more than a pause":  {rdb.CommandQuiet, rdb.CommandPause, rdb.CommandQuiet},
		"what is quiet may stop":      {rdb.CommandQuiet, rdb.CommandStop, rdb.CommandStop},
		"what stops may hurry":        {rdb.CommandStop, rdb.CommandNow, rdb.CommandNow},
		"what hurries goes on so":     {rdb.CommandNow, rdb.CommandStop, rdb.CommandNow},
		"a hurry is not forgotten":    {rdb.CommandNow, nothing, rdb.CommandNow},
		"what stops does not go on":   {rdb.CommandStop, nothing, rdb.CommandStop},
		"a paused one may stop":       {rdb.CommandPause, rdb.CommandStop, rdb.CommandStop},
		"a paused one may stay quiet": {rdb.CommandPause, rdb.CommandQuiet, rdb.CommandQuiet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var d subscription.Desired
			d.Apply(row.before)
			assert.Equal(t, row.before, d.Now())
			assert.Equal(t, row.before != row.after, d.Apply(row.wanted), "it is told only if it is new")
			assert.Equal(t, row.after, d.Now())
		})
	}
}
