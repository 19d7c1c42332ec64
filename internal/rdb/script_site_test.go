package rdb_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/embedded"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// site is one namespace of one Redis, with plain commands beside the store's methods.
type site struct {
	driver    redisconn.Driver
	store     *rdb.Store
	namespace string
	clock     *embedded.Server // nil on a real Redis
	calls     int64            // numbers of what enqueue sends
}

// onEach runs the test on the embedded Redis and on a real one.
func onEach(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		test(t, newSite(t, server.DSN(), server.Embedded()))
	})
}

func newSite(t testing.TB, dsn string, clock *embedded.Server) *site {
	t.Helper()
	driver, err := redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, driver.Close()) })
	namespace := redistest.Namespace(t)
	if clock != nil {
		clock.SetTime(time.UnixMilli(1_800_000_000_000))
	}
	return &site{driver: driver, store: rdb.NewStore(driver, namespace), namespace: namespace, clock: clock}
}

// key is the full name of a key of this namespace.
func (s *site) key(name string) string { return "{" + s.namespace + "}:" + name }

// cmd runs a plain command on a key of this namespace.
func (s *site) cmd(t require.TestingT, command, key string, args ...any) any {
	replies, err := s.driver.Pipeline(context.Background(),
		redisconn.Call{Command: command, Args: append([]any{s.key(key)}, args...)})
	require.NoError(t, err)
	require.NoError(t, replies[0].Err, "%s %s", command, key)
	return replies[0].Value
}

// texts makes strings of an array reply, and of nil an empty list.
func texts(t require.TestingT, reply any) []string {
	list := []string{}
	values, ok := reply.([]any)
	require.True(t, ok || reply == nil, "not an array: %v", reply)
	for _, value := range values {
		list = append(list, text(value))
	}
	return list
}

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

// list reads a list from its front (the tail, where jobs are taken) to its back.
func (s *site) list(t require.TestingT, key string) []string {
	items := texts(t, s.cmd(t, "LRANGE", key, 0, -1))
	slices.Reverse(items)
	return items
}

// hash reads a hash, or a zset with its scores.
func (s *site) hash(t require.TestingT, key string) map[string]string {
	return pairs(texts(t, s.cmd(t, "HGETALL", key)))
}

func (s *site) scores(t require.TestingT, key string) map[string]string {
	return pairs(texts(t, s.cmd(t, "ZRANGE", key, 0, -1, "WITHSCORES")))
}

func (s *site) set(t require.TestingT, key string) []string {
	members := texts(t, s.cmd(t, "SMEMBERS", key))
	slices.Sort(members)
	return members
}

func (s *site) exists(t require.TestingT, key string) bool {
	return s.cmd(t, "EXISTS", key) == int64(1)
}

func pairs(list []string) map[string]string {
	m := make(map[string]string, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
}

// now is the clock of this Redis.
func (s *site) now(t require.TestingT) time.Time {
	replies, err := s.driver.Pipeline(context.Background(), redisconn.Call{Command: "TIME"})
	require.NoError(t, err)
	parts := texts(t, replies[0].Value)
	seconds, _ := strconv.ParseInt(parts[0], 10, 64)
	micros, _ := strconv.ParseInt(parts[1], 10, 64)
	return time.Unix(seconds, micros*1000)
}

// pass lets time pass in Redis: the embedded clock is moved, and a real Redis is waited for, with a command that
// blocks.
func (s *site) pass(t require.TestingT, d time.Duration) {
	if s.clock != nil {
		s.clock.Advance(d)
		return
	}
	for until := s.now(t).Add(d); s.now(t).Before(until); {
		replies, err := s.driver.Pipeline(context.Background(), redisconn.Call{
			Command: "BLPOP", Args: []any{s.key("nothing"), strconv.FormatFloat(d.Seconds(), 'f', 3, 64)}, Block: d,
		})
		require.NoError(t, err)
		require.NoError(t, replies[0].Err)
	}
}

// job is a job for the back of a queue. Its record says its id.
func job(queue, id string) rdb.NewJob {
	return rdb.NewJob{Queue: queue, ID: id, Place: rdb.Back, Record: record(id)}
}

func record(id string) []byte { return []byte(`{"jid":"` + id + `"}`) }

// enqueue stores jobs at the back of one queue.
func (s *site) enqueue(t require.TestingT, queue string, ids ...string) {
	jobs := make([]rdb.NewJob, len(ids))
	for i, id := range ids {
		jobs[i] = job(queue, id)
	}
	s.calls++
	answer, err := s.store.Enqueue(context.Background(), "lane of the test", s.calls, jobs)
	require.NoError(t, err)
	require.Empty(t, answer.Problems)
}

// worker registers a worker that serves the queues.
func (s *site) worker(t require.TestingT, id string, queues ...string) *rdb.Worker {
	worker := s.store.Worker(id)
	_, _, err := worker.Register(context.Background(),
		rdb.Registration{Life: time.Minute, Epoch: "epoch-1", Queues: queues})
	require.NoError(t, err)
	return worker
}

// take fetches up to wanted jobs of the queues, without shares, and returns the claims.
func (s *site) take(t require.TestingT, w *rdb.Worker, number int64, wanted int, queues ...string) []rdb.Claim {
	shares := make([]rdb.Share, len(queues))
	for i, queue := range queues {
		shares[i].Queue = queue
	}
	fetched, err := w.Fetch(context.Background(), number, wanted, false, shares)
	require.NoError(t, err)
	require.Equal(t, rdb.Registered, fetched.State)
	claims := make([]rdb.Claim, len(fetched.Jobs))
	for i := range fetched.Jobs {
		claims[i] = fetched.Jobs[i].Claim
	}
	return claims
}

// settle sends one call and returns the elements whose claim was gone.
func settle(t require.TestingT, w *rdb.Worker, call redisconn.Call) []string {
	settled, err := w.Settle(context.Background(), []redisconn.Call{call})
	require.NoError(t, err)
	require.NoError(t, settled[0].Err)
	return settled[0].Gone
}

// elements are the elements of claims, in their order.
func elements(claims []rdb.Claim) []string {
	out := make([]string, len(claims))
	for i, claim := range claims {
		out[i] = claim.Element
	}
	return out
}

func ended(claims ...rdb.Claim) []rdb.Ended {
	out := make([]rdb.Ended, len(claims))
	for i, claim := range claims {
		out[i] = rdb.Ended{Claim: claim, ID: idOf(claim.Element)}
	}
	return out
}

func idOf(element string) string {
	for i := range element {
		if element[i] == ':' {
			return element[i+1:]
		}
	}
	return ""
}

// everyPart reads all parts of a walk.
func everyPart(part func(cursor string) (next string, err error)) error {
	for cursor := ""; ; {
		next, err := part(cursor)
		if err != nil || next == "0" {
			return err
		}
		cursor = next
	}
}
