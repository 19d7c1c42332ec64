package resize_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/partition"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// slow is a driver for a mover for whom each page of a walk over what may leave partition 0 seems to take two seconds:
// its lead is that much shorter afterwards. Where it has lapsed another one takes it.
type slow struct {
	redisconn.Driver
	store *rdb.Store // of the partition that is walked over
	walks string     // by this command
	pages int
	lost  int // how many times the lead was lost
	steal bool
}

func (d *slow) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	replies, err := d.Driver.Pipeline(ctx, calls...)
	for _, call := range calls {
		if call.Command == d.walks && fmt.Sprint(call.Args[0])[:len(d.store.FullName(""))] == d.store.FullName("") {
			d.pages++
			d.pass(ctx)
		}
	}
	return replies, err
}

func (d *slow) pass(ctx context.Context) {
	mover := d.store.FullName("mover")
	command := func(name string, args ...any) int64 {
		value, err := redisconn.Do(ctx, d.Driver, redisconn.Call{Command: name, Args: append([]any{mover}, args...)})
		if err != nil {
			panic(err)
		}
		n, _ := value.(int64)
		return n
	}
	left := command("PTTL")
	switch {
	case left == -2: // nobody leads: it is a reader
	case d.steal || left <= 2_000:
		d.lost++
		d.steal = false
		command("UNLINK")
	default:
		command("PEXPIRE", left-2_000)
	}
}

// A mover that reads for minutes keeps its lead: else another one takes it, and both begin anew again and again.
func TestALeadLastsThroughWalks(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		for i := range 300 { // several pages
			s.store(t, rdb.NewJob{Queue: "plain", ID: fmt.Sprintf("p%d", i)})
			s.store(t, rdb.NewJob{Queue: "uni", ID: fmt.Sprintf("u%d", i),
				Lock: rdb.Lock{Digest: fmt.Sprintf("digest%d", i), Kind: rdb.UntilEnded}})
		}
		walk := func(command string, partition int, do func(*partition.Directory) error) {
			t.Helper()
			d := &slow{Driver: s.driver, store: s.directory.Store(partition), walks: command}
			require.NoError(t, do(s.another(d)))
			if server.Embedded() == nil { // that one reads in one page what a real one reads in many
				assert.Greater(t, d.pages, 3)
			}
			assert.Zero(t, d.lost)
		}
		walk("HSCAN", 0, func(directory *partition.Directory) error { return resize.To(ctx, directory, 2, nil) })

		require.NoError(t, s.directory.Refresh(ctx))
		name := namesAt(s.directory.Map(), 1, 1)[0]
		s.store(t, rdb.NewJob{Queue: name, ID: "first"})
		walk("HSCAN", 0, func(directory *partition.Directory) error { return resize.Bind(ctx, directory, name) })

		for i := range 600 {
			s.shelve(t, 1, fmt.Sprintf("s%d", i))
		}
		s.cmd(t, 1, "HSET", "jobs", "waits", `{"jid":"waits","name":"plain","args":[],"t":1}`)
		require.NoError(t, resize.Begin(ctx, s.directory, 1, nil))
		require.Equal(t, partition.Draining, s.directory.Map().State(1))
		for i := range 600 {
			s.shelve(t, 1, fmt.Sprintf("again%d", i))
			s.cmd(t, 1, "HDEL", "jobs", fmt.Sprintf("again%d", i)) // it is not moved, only read
		}
		walk("ZSCAN", 1, func(directory *partition.Directory) error {
			require.NoError(t, directory.Refresh(ctx))
			_, err := resize.Settle(ctx, directory, 1)
			return err
		})
		records := s.records(t)
		assert.Len(t, records, 1_202)
		for id, n := range records {
			assert.Equal(t, 1, n, id)
		}
	})
}

// A mover that has lost its lead begins anew, and does not go on as if it had it.
func TestALeadThatIsLostIsTakenAnew(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		s := newTown(t, server)
		ctx, stop := context.WithTimeout(context.Background(), patience)
		defer stop()
		s.settle(t, 40)
		d := &slow{Driver: s.driver, store: s.directory.Store(0), walks: "HSCAN", steal: true}
		require.NoError(t, resize.To(ctx, s.another(d), 3, func(p resize.Progress) {
			assert.NoError(t, p.Waiting, "it is no failure")
		}))
		assert.Equal(t, 1, d.lost)
		s.check(t)

		led := rdb.Lead{Token: "late", Life: time.Minute}
		require.ErrorIs(t, s.directory.Store(0).KeepLead(ctx, led), rdb.ErrLed, "what has lapsed is not kept")
		assert.Nil(t, s.cmd(t, 0, "GET", "mover"))
		first, err := s.directory.Store(0).TakeLead(ctx, rdb.Lead{Token: "first", Life: time.Minute})
		require.NoError(t, err)
		require.True(t, first)
		require.ErrorIs(t, s.directory.Store(0).KeepLead(ctx, led), rdb.ErrLed)
	})
}
