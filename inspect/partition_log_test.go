package inspect_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/partition/partitiontest"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

// logged puts a job with a log of one line into a partition, with a made id that says nothing of it.
func (d *divided) logged(partition int, id string) {
	k := d.parts[partition]
	k.Do("HSET", "jobs", id, fmt.Sprintf(`{"jid":%q,"name":"n","args":[],"t":1}`, id))
	k.Do("LPUSH", "queue:n", id)
	k.Do("RPUSH", "log:"+id, "# 2 0 0 ", "1 {}")
}

func (d *divided) gone(partition int, id string) {
	d.parts[partition].Do("HDEL", "jobs", id)
	d.parts[partition].Do("UNLINK", "log:"+id)
}

func TestALogIsFollowedWhileAPartitionIsDown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(d *divided, id string, ended <-chan error){
		"its job ends, and its log is kept": func(d *divided, id string, ended <-chan error) {
			_, err := d.hands().Cancel(d.Ctx(), id) // for whom all are up
			require.NoError(d.T, err)
			require.NoError(d.T, pooltest.Receive(d.T, ended))
		},
		"its job ends, and that is known": func(d *divided, id string, ended <-chan error) {
			d.parts[0].Do("UNLINK", "log:"+id)
			_, err := d.hands().Cancel(d.Ctx(), id)
			require.NoError(d.T, err)
			require.NoError(d.T, pooltest.Receive(d.T, ended))
		},
		"its job is gone": func(d *divided, id string, ended <-chan error) {
			d.gone(0, id)
			err := pooltest.Receive(d.T, ended)
			d.missing(err)
			require.NotErrorIs(d.T, err, work.ErrNotFound)
		},
		"its job is gone, and the partition is back": func(d *divided, id string, ended <-chan error) {
			d.outages.Up(1)
			d.gone(0, id)
			require.NoError(d.T, pooltest.Receive(d.T, ended))
		},
		"that of its job": func(d *divided, _ string, ended <-chan error) {
			d.outages.Up(1)
			d.outages.Set(0, partitiontest.Down)
			err := pooltest.Receive(d.T, ended)
			require.ErrorContains(d.T, err, "was not read on")
			require.NotErrorIs(d.T, err, work.ErrNotFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				const id = "x"
				d := newDivided(t, s, func(n int, k *kit) {
					if n == 0 {
						_, err := k.Enq.EnqueueMany(k.Ctx(), []work.Entry{{Name: "n",
							Options: []work.EnqueueOption{work.ID(id), work.Retention(time.Hour)}}})
						require.NoError(t, err)
						k.Do("RPUSH", "log:"+id, "# 2 0 0 ", "1 {}")
					}
				})
				lines, ended := follow(d.Ctx(), d.i, id)
				assert.Equal(t, int64(1), pooltest.Receive(t, lines).Number)
				d.outages.Set(1, partitiontest.Down)
				end(d, id, ended)
			})
		})
	}
}

// Whether a job is there that nobody else has cannot be said while a partition is down.
func TestALogOfNobodyIsFollowedWhileAPartitionIsDown(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := newDivided(t, s, func(int, *kit) {})
		d.outages.Set(1, partitiontest.Down)
		_, ended := follow(d.Ctx(), d.i, "nobody")
		err := pooltest.Receive(t, ended)
		d.missing(err)
		require.NotErrorIs(t, err, work.ErrNotFound)
		d.outages.Up(1)
		_, ended = follow(d.Ctx(), d.i, "nobody")
		require.ErrorIs(t, pooltest.Receive(t, ended), work.ErrNotFound)
	})
}

// meanwhile is a driver that does something before a reading of a log of a partition.
type meanwhile struct {
	redisconn.Driver
	mu  sync.Mutex
	key string
	nth int // before this reading
	do  func()
}

func (m *meanwhile) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	m.mu.Lock()
	if len(calls) == 2 && len(calls[1].Args) > 0 && strings.HasSuffix(fmt.Sprint(calls[1].Args[0]), m.key) {
		if m.nth--; m.nth == 0 {
			m.do()
		}
	}
	m.mu.Unlock()
	return m.Driver.Pipeline(ctx, calls...)
}

// A job that is found, and has left before its log is followed, has ended, or is followed where it went.
func TestAJobLeavesBeforeItsLogIsFollowed(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		t.Run(fmt.Sprint(moved), func(t *testing.T) {
			t.Parallel()
			redistest.Each(t, func(t *testing.T, s redistest.Server) {
				d := newDivided(t, s, func(int, *kit) {})
				d.logged(0, "x")
				left := make(chan struct{})
				driver := &meanwhile{Driver: d.outages, key: "{" + d.Namespace + "}:log:x", nth: 2, do: func() {
					defer close(left)
					d.gone(0, "x")
					if moved {
						d.logged(2, "x")
					}
				}}
				i, err := inspect.New("", work.WithConnection(pooltest.Connection{Of: driver}),
					work.Namespace(d.Namespace))
				require.NoError(t, err)
				defer i.Close()
				lines, ended := follow(d.Ctx(), i, "x")
				pooltest.Receive(t, left)
				if moved {
					assert.Equal(t, int64(1), pooltest.Receive(t, lines).Number)
					d.gone(2, "x")
				}
				require.NoError(t, pooltest.Receive(t, ended))
			})
		})
	}
}

// A namespace is divided while a log is followed: the job goes on elsewhere, and so does its log.
func TestALogIsFollowedIntoAPartitionThatIsNew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		d := &divided{kit: newKit(t, s)}
		for n := range parts {
			d.parts = append(d.parts, &kit{d.Kit.Part(n)})
		}
		d.logged(0, "x")
		i := d.inspector()
		lines, ended := follow(d.Ctx(), i, "x")
		assert.Equal(t, int64(1), pooltest.Receive(t, lines).Number)
		d.logged(2, "x")
		d.parts[2].Do("RPUSH", "log:x", "2 {}")
		driver, err := redisconn.Open(s.DSN())
		require.NoError(t, err)
		defer driver.Close()
		partitiontest.WriteMap(t, driver, d.Namespace, partitiontest.Divided(1, parts))
		_, err = i.Partitions(d.Ctx()) // it may have read the map just before
		require.NoError(t, err)
		d.gone(0, "x")
		assert.Equal(t, int64(2), pooltest.Receive(t, lines).Number)
		d.gone(2, "x")
		require.NoError(t, pooltest.Receive(t, ended))
	})
}
