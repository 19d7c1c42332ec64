package divided_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// shop is an Enqueuer of a namespace in several partitions, each of which may fail.
type shop struct {
	*work.Enqueuer
	t       *testing.T
	outages *partitiontest.Outages
	parts   *partition.Directory // beside the outages
	m       *partition.Map
}

// onEach opens a shop of so many partitions on each Redis.
func onEach(t *testing.T, n int, test func(t *testing.T, s *shop)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, server redistest.Server) { test(t, open(t, server, n)) })
}

func open(t *testing.T, server redistest.Server, n int, opts ...work.EnqueuerOption) *shop {
	t.Helper()
	driver, err := redisconn.Open(server.DSN())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	ns := redistest.Namespace(t)
	s := &shop{t: t, outages: partitiontest.NewOutages(driver, ns), parts: partition.NewDirectory(driver, ns)}
	if n > 1 {
		s.write(partitiontest.Divided(1, n))
	}
	s.Enqueuer = s.another(opts...)
	return s
}

// another is one more Enqueuer of the shop.
func (s *shop) another(opts ...work.EnqueuerOption) *work.Enqueuer {
	s.t.Helper()
	opts = append(opts, work.Namespace(s.parts.Namespace()), work.WithConnection(pooltest.Connection{Of: s.outages}),
		work.WithLogger(pooltest.Silent()))
	enq, err := work.NewEnqueuer("", opts...)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, enq.Close()) })
	return enq
}

// write writes a map where it belongs.
func (s *shop) write(m *partition.Map) {
	s.t.Helper()
	s.m = m
	partitiontest.WriteMap(s.t, s.parts.Driver(), s.parts.Namespace(), m)
	s.parts.Learn(m)
}

// change writes a newer map.
func (s *shop) change(change func(m *partition.Map)) {
	s.t.Helper()
	m := s.m.Clone()
	m.Version++
	change(m)
	s.write(m)
}

// do runs a command on a key of a partition.
func (s *shop) do(at int, command, key string, args ...any) any {
	s.t.Helper()
	key = "{" + partition.Namespace(s.parts.Namespace(), at) + "}:" + key
	value, err := redisconn.Do(context.Background(), s.parts.Driver(),
		redisconn.Call{Command: command, Args: append([]any{key}, args...)})
	require.NoError(s.t, err)
	return value
}

// ids are those of the jobs of a partition.
func (s *shop) ids(at int) (ids []string) {
	s.t.Helper()
	values, _ := s.do(at, "HKEYS", "jobs").([]any)
	for _, value := range values {
		ids = append(ids, string(value.([]byte)))
	}
	return ids
}

// places are the partitions of each job that there is, and how many jobs each partition has.
func (s *shop) places() (at map[string][]int, per []int) {
	s.t.Helper()
	at = map[string][]int{}
	for i := range s.m.Len() {
		ids := s.ids(i)
		per = append(per, len(ids))
		for _, id := range ids {
			at[id] = append(at[id], i)
		}
	}
	return at, per
}

// home is the only partition that has a job.
func (s *shop) home(id string) int {
	s.t.Helper()
	at, _ := s.places()
	require.Len(s.t, at[id], 1, "job %s", id)
	return at[id][0]
}

// record is that of a job.
func (s *shop) record(at int, id string) (fields map[string]any) {
	s.t.Helper()
	text, _ := s.do(at, "HGET", "jobs", id).([]byte)
	require.NoError(s.t, json.Unmarshal(text, &fields))
	return fields
}

// soon is a ctx that gives up long before a test does.
func soon(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// givenIn is an id that is bound to that partition.
func (s *shop) givenIn(at int, prefix string) string {
	for n := 0; ; n++ {
		id := prefix + string(rune('a'+n%26)) + time.Duration(n).String()
		if s.m.At(partition.BucketOfID(id)) == at {
			return id
		}
	}
}
