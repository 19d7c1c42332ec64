package subscription_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/subscription"
)

// begun are surveys after the first one.
func begun(round time.Duration) *subscription.Surveys {
	s := subscription.NewSurveys(round)
	s.Done(s.Next(), nil)
	return s
}

func TestAWorkerBeginsWithASurvey(t *testing.T) {
	t.Parallel()
	s := subscription.NewSurveys(time.Hour)
	assert.False(t, s.Due(), "the fetcher comes to it by itself")
	assert.Equal(t, subscription.SurveyOfTouched, s.Next())
	s.Done(subscription.SurveyOfTouched, errors.New("no luck"))
	assert.Equal(t, subscription.SurveyOfTouched, s.Next())
	s.Done(subscription.SurveyOfTouched, nil)
	assert.Equal(t, subscription.NoSurvey, s.Next())
}

func TestALostCallIsSurveyed(t *testing.T) {
	t.Parallel()
	s := begun(time.Hour)
	s.Touch("a")
	s.Touch("b")
	assert.Equal(t, subscription.NoSurvey, s.Next(), "not at once")
	s.Lose()
	assert.Equal(t, subscription.SurveyOfTouched, s.Next())
	names := map[string]bool{"held": true}
	s.Touched(names)
	assert.Equal(t, map[string]bool{"held": true, "a": true, "b": true}, names)
	s.Done(subscription.SurveyOfTouched, nil)
	clear(names)
	s.Touched(names)
	assert.Empty(t, names)
	assert.Equal(t, subscription.NoSurvey, s.Next())
}

func TestMistrustIsOfAllQueues(t *testing.T) {
	t.Parallel()
	s := begun(time.Hour)
	assert.True(t, s.Mistrust())
	assert.False(t, s.Mistrust(), "that is known")
	assert.True(t, s.Due())
	assert.Equal(t, subscription.SurveyOfAll, s.Next())
	s.Done(subscription.SurveyOfAll, errors.New("no luck"))
	assert.Equal(t, subscription.SurveyOfAll, s.Next())
	s.Done(subscription.SurveyOfAll, nil)
	assert.False(t, s.Due())
	assert.Equal(t, subscription.NoSurvey, s.Next())
}

func TestAllQueuesAreAskedAboutInTurn(t *testing.T) {
	t.Parallel()
	const round = 30 * time.Millisecond
	s := begun(round)
	all := make([]string, 2*rdb.MaxBatch+1)
	for i := range all {
		all[i] = fmt.Sprint(i)
	}
	var asked []string
	for range 3 {
		require.Eventually(t, s.Due, soon, time.Millisecond)
		require.Equal(t, subscription.SurveyOfPart, s.Next())
		part := s.Part(func() []string { return all })
		assert.Equal(t, part, s.Part(func() []string { return nil }), "until it is done")
		asked = append(asked, part...)
		s.Done(subscription.SurveyOfPart, nil)
	}
	assert.Equal(t, all, asked)
	assert.Equal(t, []string{"new"}, s.Part(func() []string { return []string{"new"} }), "the next round")
}
