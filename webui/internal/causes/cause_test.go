package causes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/265d0351/work/inspect"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func TestGroupsOfTheSameMessageAreOneCause(t *testing.T) {
	t.Parallel()
	causes := Of([]inspect.ErrorGroup{
		{Digest: "1", Name: "mail", Message: "timeout after # s", Count: 3, First: at(1), Last: at(5), Sample: "m"},
		{Digest: "2", Name: "report", Message: "no rows", Count: 5, First: at(0), Last: at(3), Sample: "r"},
		{Digest: "3", Name: "import", Message: "timeout after # s", Count: 4, First: at(2), Last: at(9), Sample: "i"},
	})
	assert.Len(t, causes, 2)
	assert.EqualValues(t, 7, causes[0].Count)
	assert.Equal(t, []time.Time{at(1), at(9)}, []time.Time{causes[0].First, causes[0].Last})
	assert.Equal(t, "i", causes[0].Sample, "the last of all")
	assert.Equal(t, []string{"1", "3", "2"}, digests(causes))
	addHours(causes, map[string][]int64{"1": {1, 2}, "3": {0, 4}})
	assert.Equal(t, []int64{1, 6}, causes[0].Hours)
	assert.Empty(t, causes[1].Hours)
	assert.Empty(t, Of(nil))
}

func TestADeployIsTheLastChangeOfAVersion(t *testing.T) {
	t.Parallel()
	worker := func(service, version string, minute int, names ...string) inspect.WorkerInfo {
		return inspect.WorkerInfo{Service: service, Version: version, Started: at(minute), Queues: names}
	}
	gone := func(service, version string, minute int) inspect.StoppedWorker {
		return inspect.StoppedWorker{Service: service, Version: version, Started: at(minute)}
	}
	for name, c := range map[string]struct {
		workers []inspect.WorkerInfo
		stopped []inspect.StoppedWorker
		want    string
		at      int
	}{
		"none is known": {},
		"one version":   {[]inspect.WorkerInfo{worker("shop", "v1", 5), worker("shop", "v1", 3)}, nil, "v1", 3},
		"another one": {[]inspect.WorkerInfo{worker("shop", "v2", 7)},
			[]inspect.StoppedWorker{gone("shop", "v1", 3)}, "v2", 7},
		"restarted since": {[]inspect.WorkerInfo{worker("shop", "v2", 9)},
			[]inspect.StoppedWorker{gone("shop", "v1", 3), gone("shop", "v2", 7)}, "v2", 7},
		"rolled back": {[]inspect.WorkerInfo{worker("shop", "v1", 9)},
			[]inspect.StoppedWorker{gone("shop", "v1", 3), gone("shop", "v2", 7)}, "v1", 9},
		"one without": {[]inspect.WorkerInfo{worker("shop", "", 9), worker("shop", "(devel)", 8),
			worker("shop", "v1", 3)}, nil, "v1", 3},
		"of a service of more": {[]inspect.WorkerInfo{worker("shop", "v2", 7), worker("other", "v9", 1)}, nil, "v2", 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := deploysOf(c.workers, c.stopped)
			if c.want == "" {
				assert.Empty(t, got)
				return
			}
			assert.Equal(t, c.want, got[0].Version)
			assert.Equal(t, at(c.at), got[0].At)
		})
	}
}

func TestACauseIsNewThatCameAfterADeployOfItsService(t *testing.T) {
	t.Parallel()
	deploys := deploysOf([]inspect.WorkerInfo{
		{Service: "shop", Version: "v2", Started: at(10), Queues: []string{"mail"}},
		{Service: "post", Version: "v5", Started: at(20), Queues: []string{"report"}},
	}, nil)
	causes := Of([]inspect.ErrorGroup{
		{Name: "mail", Message: "old", Count: 4, First: at(5), Last: at(30)},
		{Name: "mail", Message: "new", Count: 3, First: at(15), Last: at(30)},
		{Name: "report", Message: "not so new", Count: 2, First: at(15), Last: at(30)},
		{Name: "nobody's", Message: "who knows", Count: 1, First: at(40), Last: at(40)},
	})
	markNew(causes, deploys)
	assert.Nil(t, causes[0].NewSince)
	assert.Equal(t, "v2", causes[1].NewSince.Version)
	assert.Nil(t, causes[2].NewSince, "its own service was deployed later")
	assert.Nil(t, causes[3].NewSince)
}
