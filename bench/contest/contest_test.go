package contest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/bench/peer"
	"github.com/265d0351/work/bench/scenario"
)

// named is a library that exists by name only.
type named struct {
	peer.Work
	name string
}

func (n named) Name() string { return n.name }

// played is a run that a scenario was asked for.
type played struct {
	library string
	jobs    int
}

func recorded(runs *[]played, fitted bool, value func(library string) (float64, error)) scenario.Scenario {
	return scenario.Scenario{
		Name: "recorded", Fitted: fitted, Jobs: [3]int{5, 100_000, 1_000_000},
		Run: func(_ context.Context, r *scenario.Run) ([]scenario.Metric, error) {
			*runs = append(*runs, played{r.Library.Name(), r.Jobs})
			v, err := value(r.Library.Name())
			return []scenario.Metric{{Name: "jobs", Unit: "/s", Value: v}}, err
		},
	}
}

func TestLibrariesTakeTurnsAndNobodyIsAlwaysFirst(t *testing.T) {
	t.Parallel()
	var runs []played
	n := 0.0
	s := recorded(&runs, false, func(string) (float64, error) { n++; return n, nil })
	c := &Contest{Libraries: []peer.Library{named{name: "a"}, named{name: "b"}}, Scenarios: []scenario.Scenario{s},
		Rounds: 3}
	rows, failures := c.Run(t.Context())
	require.Empty(t, failures)
	assert.Equal(t, []played{{"a", 5}, {"b", 5}, {"b", 5}, {"a", 5}, {"a", 5}, {"b", 5}}, runs)
	require.Len(t, rows, 1)
	assert.Equal(t, map[string][]float64{"a": {1, 4, 5}, "b": {2, 3, 6}}, rows[0].Samples)
	median, ok := rows[0].Median("a")
	assert.True(t, ok)
	assert.EqualValues(t, 4, median)
}

func TestEachLibraryGetsAsManyJobsAsItDoesInTheTimeOfARun(t *testing.T) {
	t.Parallel()
	var runs []played
	s := recorded(&runs, true, func(library string) (float64, error) {
		return map[string]float64{"fast": 1e6, "middle": 20_000, "slow": 10}[library], nil
	})
	c := &Contest{Size: scenario.Quick, Rounds: 1, Scenarios: []scenario.Scenario{s},
		Libraries: []peer.Library{named{name: "fast"}, named{name: "middle"}, named{name: "slow"}}}
	rows, failures := c.Run(t.Context())
	require.Empty(t, failures)
	fitted := int(20_000 * times[scenario.Quick].Seconds())
	assert.Equal(t, []played{
		{"fast", firstGuess}, {"fast", 100_000}, {"fast", 100_000}, {"middle", firstGuess}, {"middle", fitted},
		{"middle", fitted}, {"slow", firstGuess}, {"slow", 1000},
	}, runs, "the first runs of each only find out how fast it is")
	assert.Len(t, rows[0].Samples["middle"], 1)
}

func TestALibraryThatFailsLeavesTheScenarioAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	var runs []played
	s := recorded(&runs, false, func(library string) (float64, error) {
		if library == "bad" {
			return 0, errors.New("lost a job")
		}
		return 1, nil
	})
	c := &Contest{Libraries: []peer.Library{named{name: "bad"}, named{name: "good"}}, Scenarios: []scenario.Scenario{s},
		Rounds: 2}
	rows, failures := c.Run(t.Context())
	assert.Equal(t, []Failure{{Scenario: "recorded", Library: "bad", Error: "lost a job"}}, failures)
	assert.Equal(t, []played{{"bad", 5}, {"good", 5}, {"good", 5}}, runs)
	_, ok := rows[0].Median("bad")
	assert.False(t, ok)
}

func TestAScenarioMayBoundItsRounds(t *testing.T) {
	t.Parallel()
	var runs []played
	s := recorded(&runs, false, func(string) (float64, error) { return 1, nil })
	s.Rounds = [3]int{1, 0, 0}
	c := &Contest{Libraries: []peer.Library{named{name: "a"}}, Scenarios: []scenario.Scenario{s}, Rounds: 4}
	c.Run(t.Context())
	assert.Len(t, runs, 1)
}

func TestMedianOfAnEvenNumberLiesBetween(t *testing.T) {
	t.Parallel()
	median, ok := Row{Samples: map[string][]float64{"a": {4, 1, 2, 3}}}.Median("a")
	assert.True(t, ok)
	assert.EqualValues(t, 2.5, median)
}
