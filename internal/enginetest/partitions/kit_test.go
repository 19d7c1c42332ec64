package partitions_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// divided is a namespace of several partitions.
type divided struct {
	*kit
	m     *partition.Map
	given int // ids
}

// newDivided makes a namespace with so many open partitions.
func newDivided(t *testing.T, s redistest.Server, n int) *divided {
	t.Helper()
	d := &divided{kit: newKit(t, s), m: &partition.Map{}}
	d.change(func(m *partition.Map) { spread(m, n) })
	return d
}

// spread gives a map so many open partitions with equal parts of the buckets.
func spread(m *partition.Map, n int) {
	m.States, m.Buckets = make([]partition.State, n), make([]int, partition.Buckets)
	for i := range m.States {
		m.States[i] = partition.Open
	}
	for bucket := range m.Buckets {
		m.Buckets[bucket] = bucket % n
	}
}

// change puts the next map into force, in all partitions.
func (d *divided) change(how func(m *partition.Map)) {
	d.T.Helper()
	m := d.m.Clone()
	m.Version++
	how(m)
	for i := range m.Len() {
		_, err := d.store(i).WriteMap(d.Ctx(), m.Version, m.Encode(), -1)
		require.NoError(d.T, err)
	}
	d.m = m
	require.NoError(d.T, inside.Enqueuer(d.Enq).Partitions.Refresh(d.Ctx()))
}

// store is that of a partition.
func (d *divided) store(i int) *rdb.Store {
	return rdb.NewStore(d.Raw().Driver(), partition.Namespace(d.Namespace, i))
}

// fill stores so many jobs in a partition, each with its number as the argument.
func (d *divided) fill(i int, name string, jobs int) {
	d.T.Helper()
	var entries []work.Entry
	for len(entries) < jobs {
		d.given++
		id := fmt.Sprintf("job-%d", d.given)
		if d.m.Single() || d.m.Home(partition.Job{Name: name, Given: id}).Partition == i {
			entries = append(entries, work.Entry{Name: name, Args: []any{i},
				Options: []work.EnqueueOption{work.ID(id)}})
		}
	}
	_, err := d.Enq.EnqueueMany(d.Ctx(), entries)
	require.NoError(d.T, err)
}

// healthyAgain waits until a component tells that its trouble is over.
func (d *divided) healthyAgain(component string) {
	d.T.Helper()
	pooltest.Await(d.T, d.Spy, func(e event.TroubleOver) bool { return e.Component == component })
}

// faults is a driver that cuts partitions off: calls to them fail, or hang until their ctx ends.
type faults struct {
	redisconn.Driver
	namespace string

	mu    sync.Mutex
	down  map[int]bool
	hangs map[int]bool
	calls int
	asked map[int]int // calls by partition
}

func (d *divided) faulty(o *work.WorkerOptions) *faults {
	d.T.Helper()
	driver, err := o.Connection.Driver()
	require.NoError(d.T, err)
	f := &faults{Driver: driver, namespace: d.Namespace, down: map[int]bool{}, hangs: map[int]bool{},
		asked: map[int]int{}}
	o.Connection = pooltest.Connection{Of: f}
	return f
}

func (f *faults) set(what map[int]bool, i int, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what[i] = is
}

// of is the partition that calls concern; -1 for none.
func (f *faults) of(calls []redisconn.Call) int {
	for _, call := range calls {
		keys := call.Keys
		if len(keys) == 0 && len(call.Args) > 0 {
			keys = []string{fmt.Sprint(call.Args[0])}
		}
		for _, key := range keys {
			for i := range partition.Max {
				if strings.HasPrefix(key, "{"+partition.Namespace(f.namespace, i)+"}") {
					return i
				}
			}
		}
	}
	return -1
}

var errDown = &redisconn.DialError{Addr: "a partition that is down", Err: errors.New("played")}

func (f *faults) pass(ctx context.Context, pass pooltest.Send, calls []redisconn.Call) ([]redisconn.Reply, error) {
	i := f.of(calls)
	f.mu.Lock()
	down, hangs := f.down[i], f.hangs[i]
	f.calls++
	f.asked[i]++
	f.mu.Unlock()
	switch {
	case down:
		return nil, errDown
	case hangs:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return pass(ctx, calls...)
}

func (f *faults) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	return f.pass(ctx, f.Driver.Pipeline, calls)
}

func (f *faults) Dial(ctx context.Context) (redisconn.Conn, error) {
	conn, err := f.Driver.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &faultyConn{conn, f}, nil
}

type faultyConn struct {
	redisconn.Conn
	f *faults
}

func (c *faultyConn) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	return c.f.pass(ctx, c.Conn.Pipeline, calls)
}

// each runs a test on each kind of server.
func each(t *testing.T, test func(t *testing.T, s redistest.Server)) {
	t.Helper()
	t.Parallel()
	redistest.Each(t, test)
}
