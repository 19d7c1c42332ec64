package integration

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
)

// TestScaleCutOff cuts the primary off from all other servers, while its clients reach it still, and heals it when
// another one has taken over.
func TestScaleCutOff(t *testing.T) {
	t.Parallel()
	layouts := []string{"Cluster"}
	if scaleLong() {
		layouts = append(layouts, "Sentinel") // which takes its time to make the old primary a replica
	}
	for _, layout := range layouts {
		t.Run(layout, func(t *testing.T) {
			t.Parallel()
			cutOff(t, layout)
		})
	}
}

func cutOff(t *testing.T, layout string) {
	rounds, apart := 1, time.Second
	if scaleLong() {
		rounds, apart = 5, 5*time.Second
	}
	l := startRow(t, layout, 1)
	var longest time.Duration
	for range rounds {
		old := l.servers.primary()
		followers := l.servers.followers(old)
		old.Isolate()
		at := promotion(t, followers)
		l.servers.awaitPromotion(old)
		longest = max(longest, l.worksAfter(at))
		<-time.After(apart) // the fault lasts that long
		old.Heal()
		l.servers.awaitReplica(old)
		l.ledger.await(t, ended, 0, len(l.ledger.of(ended, 0))+100)
	}
	lost := l.drained()
	t.Logf("refused:%s", l.said())
	assert.Empty(t, lost, "acknowledged jobs, of %d", len(l.accepted))
	l.countedOnce()
	l.goesOn()
	measured(t, fmt.Sprintf("%s, WaitReplicas(1), min-replicas-to-write 1: the primary cut off from the others for %v "+
		"beyond the promotion, and healed, %d times", layout, apart, rounds),
		"lost %d of %d acknowledged jobs; %d were begun again; none counted twice; a job enqueued after the promotion "+
			"ended within %v", len(lost), len(l.accepted), l.again(), longest.Round(10*time.Millisecond))
}

// countedOnce checks that the history has no more ends than handlers have reported.
func (l *load) countedOnce() {
	l.t.Helper()
	inspector, err := inspect.New(l.direct, work.Namespace(l.namespace))
	require.NoError(l.t, err)
	defer func() { _ = inspector.Close() }()
	names := []string{"brief", "flaky", "narrow"}
	history, err := inspector.History(l.t.Context(), inspect.HistoryOptions{Names: names})
	require.NoError(l.t, err)
	counted := 0
	for _, points := range history {
		for _, point := range points {
			counted += int(point.Done)
		}
	}
	assert.Positive(l.t, counted)
	assert.LessOrEqual(l.t, counted, len(l.ledger.of(ended, 0)))
}
