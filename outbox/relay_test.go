package outbox_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/outbox"
)

func TestCommittedJobsRunOnceAndNoOthers(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		require.NoError(t, k.box.Migrate(t.Context(), k.db), "again")
		pool := k.workers(4, "a", "b")
		stop := k.run(k.relay(pool.Enqueuer(), outbox.RelayOptions{Batch: 3}))
		committed := append(k.write(10, "a", "key"), k.write(10, "b", "other")...)
		k.emptied()
		stop()
		k.ranOnce(pool, committed)
		stored := 0
		for _, e := range told[outbox.Relayed](k) {
			stored += e.Stored
		}
		assert.Equal(t, len(committed), stored)
	})
}

func TestSeveralRelaysKeepTheOrderOfAKey(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		enq := k.enqueuer()
		for range 3 {
			k.run(k.relay(enq, outbox.RelayOptions{Batch: 2, Lease: 100 * time.Millisecond}))
		}
		var writing sync.WaitGroup
		var keys [4][]string
		for i := range keys {
			writing.Go(func() { keys[i] = k.write(9, fmt.Sprint("job", i), fmt.Sprint("key", i)) })
		}
		writing.Wait()
		k.emptied()
		var all []string
		for i, committed := range keys {
			pool := k.workers(1, fmt.Sprint("job", i))
			all = append(all, committed...)
			require.NoError(t, pool.Drain(t.Context()))
			require.Equal(t, committed, k.begun(committed), "key %d", i)
			k.ranOnce(pool, all)
		}
	})
}

// The environment of a relay that is to be killed.
const (
	childTable  = "WORK_OUTBOX_CHILD_TABLE"
	childSQL    = "WORK_OUTBOX_CHILD_SQL"
	childRedis  = "WORK_OUTBOX_CHILD_REDIS"
	childSpace  = "WORK_OUTBOX_CHILD_NAMESPACE"
	childStep   = "WORK_OUTBOX_CHILD_STEP"
	childFolder = "WORK_OUTBOX_CHILD_DRIVER"
)

// relayUntilKilled is a process that relays and is killed at a step.
func relayUntilKilled() {
	dialect := map[string]*outbox.Dialect{"sqlite": outbox.SQLite, "pgx": outbox.PostgreSQL, "mysql": outbox.MySQL}
	must := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	db, err := sql.Open(os.Getenv(childFolder), os.Getenv(childSQL))
	must(err)
	enq, err := work.NewEnqueuer(os.Getenv(childRedis), work.Namespace(os.Getenv(childSpace)))
	must(err)
	box, err := outbox.New(dialect[os.Getenv(childFolder)], outbox.Table(os.Getenv(childTable)))
	must(err)
	relay, err := box.Relay(db, enq, outbox.RelayOptions{Batch: 5, Lease: 200 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler)})
	must(err)
	passed := 0
	relay.At(func(step string) {
		if step != os.Getenv(childStep) {
			return
		}
		if passed++; passed == 2 { // the first batch goes well
			must(syscall.Kill(os.Getpid(), syscall.SIGKILL))
			select {}
		}
	})
	must(relay.Run(context.Background()))
}

// TestARelayIsKilledAnywhere kills a relay's process at each step. The jobs that it has stored have run and are
// forgotten when the next relay comes, so nothing but the number of the call tells that.
func TestARelayIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	server := redistest.Dedicated(t)
	for _, step := range []string{"claimed", "sent", "finishing", "finished"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			onEach := func(t *testing.T, d database) {
				k := newKit(t, d, server.DSN())
				pool := k.workers(4, "a")
				committed := k.write(24, "a", "key")
				k.killAt(step)
				require.NoError(t, pool.Drain(t.Context()), "what was stored has run")
				left := k.number("SELECT COUNT(*) FROM $")
				require.Positive(t, left)
				k.run(k.relay(k.enqueuer(), outbox.RelayOptions{Batch: 5, Lease: 200 * time.Millisecond}))
				k.emptied()
				k.ranOnce(pool, committed)
				again := 0
				for _, e := range told[outbox.Relayed](k) {
					if e.Again {
						again++
					}
				}
				assert.Equal(t, step != "finished", again > 0, "calls found under way: %d", again)
			}
			t.Run("sqlite", func(t *testing.T) {
				t.Parallel()
				onEach(t, sqlite(t))
			})
			eachServer(t, onEach)
		})
	}
}

// killAt runs a relay in a process of its own until it is killed at a step.
func (k *kit) killAt(step string) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childTable+"="+k.table, childSQL+"="+k.d.DSN, childFolder+"="+k.d.Driver,
		childRedis+"="+k.redis, childSpace+"="+k.namespace, childStep+"="+step)
	out, err := cmd.CombinedOutput()
	require.NoError(k, ctx.Err(), "it was not killed at %s: %s", step, out)
	var exit *exec.ExitError
	require.ErrorAs(k, err, &exit, string(out))
	status, _ := exit.Sys().(syscall.WaitStatus)
	require.Equal(k, syscall.SIGKILL, status.Signal(), string(out))
}

func TestALostReplyStoresNothingTwice(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s redistest.Server) {
		k := newKit(t, sqlite(t), s.DSN())
		proxy := redistest.NewProxy(t, s.Addr())
		pool := k.workers(2, "a")
		committed := k.write(6, "a", "key")
		enq, err := work.NewEnqueuer(proxy.DSN(), work.Namespace(k.namespace))
		require.NoError(t, err)
		t.Cleanup(func() { _ = enq.Close() })
		require.NoError(t, enq.SyncClock(t.Context()))
		swallowed := proxy.SwallowReply(committed[0])
		relay := k.relay(enq, outbox.RelayOptions{})
		claims := 0
		relay.At(func(step string) {
			if claims++; step == "claimed" && claims == 2 { // what was stored has run and is forgotten
				<-swallowed
				assert.NoError(t, pool.Drain(context.Background()))
			}
		})
		k.run(relay)
		k.emptied()
		k.ranOnce(pool, committed)
		require.Len(t, told[outbox.Trouble](k), 1)
		require.Eventually(t, func() bool { return len(told[outbox.TroubleOver](k)) == 1 }, patience, time.Millisecond)
	})
}

// TestARelayThatSleptChangesNothing lets a relay stand still behind its claim while another one goes on with that call
// and with the next one.
func TestARelayThatSleptChangesNothing(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, d database, s redistest.Server) {
		k := newKit(t, d, s.DSN())
		pool := k.workers(2, "a")
		committed := k.write(6, "a", "key")
		enq := k.enqueuer()
		asleep, wake := make(chan struct{}), make(chan struct{})
		sleeper := k.relay(enq, outbox.RelayOptions{Batch: 2, Lease: 100 * time.Millisecond})
		var once sync.Once
		sleeper.At(func(step string) {
			if step == "claimed" {
				once.Do(func() {
					close(asleep)
					<-wake
				})
			}
		})
		stop := k.run(sleeper)
		<-asleep
		k.run(k.relay(enq, outbox.RelayOptions{Batch: 2, Lease: 100 * time.Millisecond}))
		k.emptied()
		k.ranOnce(pool, committed)
		close(wake)
		stop() // its call has been sent late by now, and refused
		k.ranOnce(pool, committed)
		assert.Empty(t, told[outbox.Parked](k))
		assert.Empty(t, told[outbox.Trouble](k))
	})
}
