package resize_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// patience is how long a move may take on a machine that does much else. Nothing waits for its end.
const patience = 5 * time.Minute

// town is a namespace with a ledger of all that was stored in it.
type town struct {
	driver    redisconn.Driver
	namespace string
	directory *partition.Directory
	calls     int64
	stamp     int64             // when jobs are stored; 0 is 1
	jobs      map[string]string // id -> record
	locks     map[string]string // digest -> owner
}

func newTown(t *testing.T, server redistest.Server) *town {
	t.Helper()
	driver, err := redisconn.Open(server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	s := &town{driver: driver, namespace: redistest.Namespace(t), jobs: map[string]string{}, locks: map[string]string{}}
	s.directory = partition.NewDirectory(driver, s.namespace)
	return s
}

// another is a directory that knows nothing yet, over a driver.
func (s *town) another(driver redisconn.Driver) *partition.Directory {
	return partition.NewDirectory(driver, s.namespace)
}

func (s *town) cmd(t *testing.T, i int, command, key string, args ...any) any {
	t.Helper()
	value, err := redisconn.Do(context.Background(), s.driver, redisconn.Call{Command: command,
		Args: append([]any{s.directory.Store(i).FullName(key)}, args...)})
	require.NoError(t, err)
	return value
}

// store stores a job at its home, by the newest map, and notes it.
func (s *town) store(t *testing.T, job rdb.NewJob) rdb.Enqueued {
	t.Helper()
	extra := ""
	if job.Lock.Digest != "" {
		extra += fmt.Sprintf(`,"lock":%q,"lock_kind":%q`, job.Lock.Digest, job.Lock.Kind)
	}
	if job.Chosen {
		extra += `,"given":true`
	}
	if job.Turn.Key != "" {
		extra += fmt.Sprintf(`,"key":%q`, job.Turn.Key)
	}
	job.Record = fmt.Appendf(nil, `{"jid":%q,"name":%q,"args":[],"t":%d%s}`, job.ID, job.Queue, max(1, s.stamp), extra)
	if job.Place == "" {
		job.Place = rdb.Back
	}
	m := s.directory.Map()
	home := m.Home(partition.Job{Name: job.Queue, Key: job.Turn.Key, Lock: job.Lock.Digest,
		Given: map[bool]string{true: job.ID}[job.Chosen]})
	job.Tracked = m.Tracking && home.Bound
	s.calls++
	at := home.Partition
	answer, err := s.directory.Store(at).EnqueueIn(context.Background(),
		rdb.LaneCall{Lane: "lane", Number: s.calls, Map: m.Version}, []rdb.NewJob{job})
	require.NoError(t, err)
	if len(answer.Problems) == 0 {
		s.jobs[job.ID] = string(job.Record)
		if job.Lock.Digest != "" {
			s.locks[job.Lock.Digest] = job.ID
		}
	}
	return answer
}

// settle fills a town with all that can be in one partition. Worker w holds "held" with a lock, and one of the limited.
func (s *town) settle(t *testing.T, many int) {
	t.Helper()
	for i := range many {
		n := strconv.Itoa(i)
		s.store(t, rdb.NewJob{Queue: "limited", ID: fmt.Sprintf("l%04d", i)})
		s.store(t, rdb.NewJob{Queue: "plain", ID: "p" + n})
		s.store(t, rdb.NewJob{Queue: "plain", ID: "given" + n, Chosen: true})
		s.store(t, rdb.NewJob{Queue: "uni", ID: "u" + n, Lock: rdb.Lock{Digest: "digest" + n, Kind: rdb.UntilEnded}})
		s.store(t, rdb.NewJob{Queue: "uni", ID: "s" + n, Place: rdb.In, When: 3_600_000,
			Lock: rdb.Lock{Digest: "later" + n, Kind: rdb.UntilBegun}})
		if i < 20 {
			s.storeKeyed(t, i)
		}
	}
	s.store(t, rdb.NewJob{Queue: "busy", ID: "held", Chosen: true,
		Lock: rdb.Lock{Digest: "held-b", Kind: rdb.UntilEnded}})
	s.store(t, rdb.NewJob{Queue: "uni", ID: "noted-c", Chosen: true})
	s.cmd(t, 0, "HSET", "trail", "noted-c", `{"fails":1,"log":true,"state":true}`)
	s.cmd(t, 0, "HSET", "crashes", "noted-c", "w0@1:1.1:1:1:1:1:x")
	s.cmd(t, 0, "HSET", "waited", "noted-c", "9999999999999")
	s.cmd(t, 0, "RPUSH", "log:noted-c", "# 2 2 1 w 1", "1 {}")
	s.cmd(t, 0, "SET", "state:noted-c", `{"state":1}`)
	s.cmd(t, 0, "HSET", "steps:noted-c", "", "digest 20", "charge", "done 1 2 int\n3")
	s.cmd(t, 0, "HSET", "mailed", "noted-c", 5)
	s.cmd(t, 0, "RPUSH", "mail:noted-c", "digest 20", "5 approval\x001")
	s.cmd(t, 0, "HSET", "schedules", "nightly", `{"spec":"@daily","name":"plain","args":[]}`)
	s.cmd(t, 0, "HSET", "ticks", "nightly", "7 x")
	s.cmd(t, 0, "HSET", "unique", "once", "over 9999999999999 t")
	s.locks["once"] = "over"
	require.NoError(t, limit.One(context.Background(), s.directory.Store(0), "limited",
		func(r *rdb.Rule) { r.Concurrent, r.Operator = 2, true }))
}

// storeKeyed stores one of some jobs of each of some keys, of a name that is limited and of one that is not.
func (s *town) storeKeyed(t *testing.T, i int) {
	t.Helper()
	for _, queue := range []string{"keyed", "limited"} {
		key := "k" + strconv.Itoa(i%7)
		job := rdb.NewJob{Queue: queue, ID: fmt.Sprintf("%s-%s-%04d", queue, key, i), Turn: rdb.Turn{Key: key}}
		if queue == "keyed" && i%3 == 0 {
			job.Lock = rdb.Lock{Digest: partition.LockOfKey("own"+job.ID, queue, key), Kind: rdb.UntilEnded}
		}
		s.store(t, job)
	}
}

// work registers a worker and lets it hold so many jobs of a queue.
func (s *town) work(t *testing.T, i int, queue string, jobs int) (*rdb.Worker, []rdb.Claim) {
	t.Helper()
	w := s.directory.Store(i).Worker("w-" + queue + "-" + strconv.Itoa(i))
	_, _, err := w.Register(context.Background(),
		rdb.Registration{Life: time.Minute, Epoch: "e", Queues: []string{queue}})
	require.NoError(t, err)
	s.calls++
	fetched, err := w.Fetch(context.Background(), s.calls, jobs, false, []rdb.Share{{Queue: queue}})
	require.NoError(t, err)
	var claims []rdb.Claim
	for i := range fetched.Jobs {
		claims = append(claims, fetched.Jobs[i].Claim)
	}
	return w, claims
}

// places are all places of each job, as the partitions tell.
func (s *town) places(t *testing.T) map[string][]string {
	t.Helper()
	places := map[string][]string{}
	note := func(i int, place string, ids ...string) {
		for _, id := range ids {
			places[id] = append(places[id], fmt.Sprintf("%d %s", i, place))
		}
	}
	for i := range partition.Max {
		if i >= s.directory.Map().Len() {
			break
		}
		records := s.hash(t, i, "jobs")
		for _, queue := range []string{"limited", "plain", "uni", "busy"} {
			for _, id := range s.texts(t, s.cmd(t, i, "LRANGE", "queue:"+queue, 0, -1)) {
				if records[id] != "" {
					note(i, "queue", id)
				}
			}
		}
		for _, shelf := range []string{"scheduled", "retry", "morgue", "stalled", "turns"} {
			note(i, shelf, s.texts(t, s.cmd(t, i, "ZRANGE", shelf, 0, -1))...)
		}
		note(i, "claimed", slices.Collect(maps.Keys(s.hash(t, i, "claimed")))...)
		for id := range s.hash(t, i, "frozen") {
			if id != "" && !strings.HasPrefix(id, "schedule\x00") {
				note(i, "frozen", id)
			}
		}
	}
	return places
}

// check compares all that there is with the ledger.
func (s *town) check(t *testing.T) {
	t.Helper()
	require.NoError(t, s.directory.Refresh(context.Background()))
	m := s.directory.Map()
	records, locks, schedules := map[string]string{}, map[string]string{}, 0
	foreign := map[string]bool{}
	for i := range m.Len() {
		maps.Copy(foreign, set(s.hash(t, i, "foreign")))
	}
	for i := range m.Len() {
		for id, record := range s.hash(t, i, "jobs") {
			require.NotContains(t, records, id, "its record is in two partitions")
			records[id] = record
		}
		stragglers := s.hash(t, i, "stragglers")
		for digest, lock := range s.hash(t, i, "unique") {
			owner, _, _ := strings.Cut(lock, " ")
			if _, leaving := stragglers[owner]; leaving {
				continue // that of its home counts
			}
			require.NotContains(t, locks, digest, "the lock is in two partitions")
			locks[digest] = owner
			assert.Equal(t, i, s.homeOfLock(m, digest, owner), "lock %s of %s", digest, owner)
		}
		schedules += len(s.hash(t, i, "schedules"))
	}
	assert.Equal(t, s.jobs, records)
	assert.Equal(t, s.locks, locks)
	assert.Equal(t, 1, schedules)
	for id, places := range s.places(t) {
		if _, lives := s.jobs[id]; lives {
			assert.Len(t, places, 1, "%s stands in %v", id, places)
		} else {
			t.Errorf("%s is in %v and should not be", id, places)
		}
	}
	assert.Len(t, s.places(t), len(s.jobs))
	s.checkKeys(t, m)
}

// checkKeys looks whether the jobs of each key are where the map says, in their order.
func (s *town) checkKeys(t *testing.T, m *partition.Map) {
	t.Helper()
	for i := range m.Len() {
		last := map[string]string{}
		for _, id := range s.texts(t, s.cmd(t, i, "ZRANGE", "turns", 0, -1)) {
			name, key, _ := strings.Cut(id[:strings.LastIndexByte(id, '-')], "-")
			assert.Equal(t, i, m.Home(partition.Job{Name: name, Key: key}).Partition, "%s, of a key", id)
			assert.Less(t, last[name+key], id, "the order of a key")
			last[name+key] = id
		}
	}
}

func (s *town) homeOfLock(m *partition.Map, digest, owner string) int {
	if rec := s.jobs[owner]; strings.Contains(rec, `"name":"limited"`) {
		return m.Home(partition.Job{Name: "limited"}).Partition
	}
	return m.At(partition.BucketOfLock(digest))
}

func set(of map[string]string) map[string]bool {
	all := map[string]bool{}
	for id := range of {
		all[id] = true
	}
	return all
}

func (s *town) hash(t *testing.T, i int, key string) map[string]string {
	t.Helper()
	list := s.texts(t, s.cmd(t, i, "HGETALL", key))
	all := map[string]string{}
	for n := 0; n+1 < len(list); n += 2 {
		all[list[n]] = list[n+1]
	}
	return all
}

func (s *town) texts(t *testing.T, value any) (texts []string) {
	t.Helper()
	list, ok := value.([]any)
	require.True(t, ok, "%v", value)
	for _, one := range list {
		texts = append(texts, string(one.([]byte)))
	}
	return texts
}
