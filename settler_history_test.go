package work

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/internal/history"
)

func TestHistoryCountsWhatHasSettled(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name string
		run  run
		want history.Result
	}{
		{"done", run{decision: decision{verb: verbDone}}, history.Done},
		{"to be tried again", run{decision: decision{verb: verbRetry}}, history.Failed},
		{"to the morgue", run{decision: decision{verb: verbBury}}, history.Dead},
		{"dead without a morgue", run{decision: decision{verb: verbDiscard, death: errors.New("x")}}, history.Dead},
		{"discarded", run{decision: decision{verb: verbDiscard}}, 0},
		{"put off", run{decision: decision{verb: verbSnooze}}, 0},
		{"given back", run{decision: decision{verb: verbRelease}}, 0},
		{"cancelled", run{decision: decision{verb: verbCancel}}, 0},
		{"expired", run{decision: decision{verb: verbExpire}}, 0},
		{"somebody else's", run{decision: decision{verb: verbDone}, settlement: settlement{lostClaim: true}}, 0},
	}
	for i := range rows {
		t.Run(rows[i].name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, rows[i].want, rows[i].run.historyResult())
		})
	}
}
