package migrate_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/cmd/work/internal/migrate"
	"github.com/265d0351/work/cmd/work/internal/migrate/asynq"
	"github.com/265d0351/work/cmd/work/internal/migrate/gocraft"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/internal/inside"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// kit is an old side and this one, in one Redis.
type kit struct {
	*testing.T
	dsn       string
	old       redisconn.Driver
	namespace string // of both
	looked    *inspect.Inspector

	mutex sync.Mutex
	ran   map[string]int
}

func newKit(t *testing.T, dsn string) *kit {
	k := &kit{T: t, dsn: dsn, namespace: redistest.Namespace(t), ran: map[string]int{}}
	var err error
	k.old, err = redisconn.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = k.old.Close() })
	k.looked = k.inspector(dsn)
	return k
}

func (k *kit) inspector(dsn string) *inspect.Inspector {
	k.Helper()
	i, err := inspect.New(dsn, work.Namespace(k.namespace))
	require.NoError(k, err)
	k.Cleanup(func() { _ = i.Close() })
	return i
}

// do sends a command to the old side.
func (k *kit) do(command string, args ...any) any {
	k.Helper()
	value, err := redisconn.Do(context.Background(), k.old, redisconn.Call{Command: command, Args: args})
	require.NoError(k, err)
	return value
}

func (k *kit) number(command string, args ...any) int64 {
	k.Helper()
	n, _ := k.do(command, args...).(int64)
	return n
}

// target is this side at some address.
func (k *kit) target(dsn string) *migrate.Target {
	i := k.looked
	if dsn != k.dsn {
		i = k.inspector(dsn)
	}
	return &migrate.Target{Directory: inside.Inspector(i).Partitions, Inspector: i}
}

// side is a library whose jobs come over.
type side struct {
	source func(k *kit, driver redisconn.Driver) migrate.Source
	add    func(k *kit, id, name string) // enqueues a job
	id     func(k *kit, id string) string
	left   func(k *kit, name string) int64
}

// sides are both libraries. The keys of asynq have no namespace, but queues.
var sides = map[string]side{
	"gocraft": {
		source: func(k *kit, driver redisconn.Driver) migrate.Source { return gocraft.New(driver, k.namespace, nil) },
		add: func(k *kit, id, name string) {
			k.do("SADD", k.namespace+":known_jobs", name)
			k.do("LPUSH", k.namespace+":jobs:"+name, record(name, id, `{"id":"`+id+`"}`, ""))
		},
		id:   func(_ *kit, id string) string { return "gocraft-" + id },
		left: func(k *kit, name string) int64 { return k.number("LLEN", k.namespace+":jobs:"+name) },
	},
	"asynq": {
		source: func(k *kit, driver redisconn.Driver) migrate.Source {
			return asynq.New(driver, asynq.Options{Queues: []string{k.namespace}})
		},
		add: func(k *kit, id, name string) {
			k.task(task{state: "pending", message: message(text(1, name), text(2, `{"id":"`+id+`"}`), text(3, id))}, id)
			k.do("LPUSH", "asynq:{"+k.namespace+"}:pending", id)
		},
		id:   func(k *kit, id string) string { return "asynq-" + k.namespace + "-" + id },
		left: func(k *kit, _ string) int64 { return k.number("LLEN", "asynq:{"+k.namespace+"}:pending") },
	},
}

// record is a job of gocraft/work.
func record(name, id, args, more string) string {
	return fmt.Sprintf(`{"name":%q,"id":%q,"t":1700000000,"args":%s%s}`, name, id, args, more)
}

// task is one of asynq.
type task struct {
	state   string
	message []byte
}

// task stores one under its key.
func (k *kit) task(t task, id string) {
	k.Helper()
	k.do("SADD", "asynq:queues", k.namespace)
	k.do("HSET", "asynq:{"+k.namespace+"}:t:"+id, "msg", t.message, "state", t.state)
}

func message(fields ...[]byte) (all []byte) {
	for _, f := range fields {
		all = append(all, f...)
	}
	return all
}

func text(field uint64, value string) []byte {
	b := binary.AppendUvarint(nil, field<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

func number(field, value uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, field<<3), value)
}

// arg is what the jobs of a kit have.
type arg struct {
	ID string `json:"id"`
}

// pool works jobs off and counts them.
func (k *kit) pool(names ...string) *work.WorkerPool {
	k.Helper()
	p := work.NewWorkerPool(struct{}{}, 4, work.WorkerOptions{Redis: k.dsn, Namespace: k.namespace,
		Logger: slog.New(slog.DiscardHandler)})
	for _, name := range names {
		p.Job(name, func(a arg) error {
			k.mutex.Lock()
			defer k.mutex.Unlock()
			k.ran[a.ID]++
			return nil
		})
	}
	require.NoError(k, p.Start(context.Background()))
	k.Cleanup(func() { _ = p.Stop(context.Background()) })
	return p
}

// once waits until nothing is to be done, and compares what has run with what was there.
func (k *kit) once(p *work.WorkerPool, ids []string) {
	k.Helper()
	require.NoError(k, p.Drain(k.Context()))
	k.mutex.Lock()
	defer k.mutex.Unlock()
	want := map[string]int{}
	for _, id := range ids {
		want[id] = 1
	}
	require.Equal(k, want, maps.Clone(k.ran))
}

// errKilled ends a bridge as if its process were killed: what it knew is gone.
var errKilled = errors.New("killed")

// killedAt runs a bridge until it comes to a step for the second time.
func killedAt(b func(at func(string)) *migrate.Bridge, step string) (killed bool) {
	passed := 0
	bridge := b(func(at string) {
		if at == step {
			if passed++; passed == 2 {
				panic(errKilled)
			}
		}
	})
	defer func() {
		if r := recover(); r != nil {
			killed = r == errKilled // it is that value
		}
	}()
	_, _ = bridge.Run(context.Background())
	return false
}

// short are options for a test.
func short() migrate.Options { return migrate.Options{Batch: 5, Within: time.Nanosecond} }
