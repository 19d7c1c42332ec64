package resize_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/limit"
	"github.com/265d0351/work/internal/rdb"
	"github.com/265d0351/work/internal/redisconn"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/internal/resize"
)

// dying is a driver whose program dies at one of its round trips: before it is sent, or before its answer comes.
type dying struct {
	redisconn.Driver
	after bool   // it is executed
	at    int    // which one; none where it is 0
	named string // of those that send this
	die   context.CancelFunc

	mu   sync.Mutex
	seen map[string]int
	dead bool
}

var errKilled = errors.New("the program is dead")

func (d *dying) Pipeline(ctx context.Context, calls ...redisconn.Call) ([]redisconn.Reply, error) {
	d.mu.Lock()
	name := calls[0].Command
	if calls[0].Script != nil {
		name = calls[0].Script.Name
	}
	if d.seen == nil {
		d.seen = map[string]int{}
	}
	d.seen[name]++
	d.seen[""]++
	hit := d.at > 0 && d.seen[d.named] == d.at && (d.named == "" || d.named == name) && !d.dead
	dead := d.dead
	d.dead = d.dead || hit
	d.mu.Unlock()
	switch {
	case dead:
		return nil, errKilled
	case !hit:
		return d.Driver.Pipeline(ctx, calls...)
	case d.after:
		_, _ = d.Driver.Pipeline(ctx, calls...)
	}
	d.die()
	return nil, errKilled
}

// to is a resize by a program that dies there.
func (s *town) to(d *dying, n int) error {
	ctx, die := context.WithCancel(context.Background())
	defer die()
	d.Driver, d.die = s.driver, die
	return resize.To(ctx, s.another(d), n, nil)
}

// recover lets another one go on.
func (s *town) recover(t *testing.T, n int) {
	t.Helper()
	for i := range 4 {
		s.cmd(t, i, "UNLINK", "mover") // its time is over
	}
	require.NoError(t, resize.To(context.Background(), s.directory, n, nil))
	for i := range s.directory.Map().Len() { // janitors finish counts
		keeper := limit.Keeper{}
		require.NoError(t, keeper.Keep(context.Background(), s.directory.Store(i).AtMap(s.directory.Map().Version)))
	}
}

// A mover may die at any of its round trips: whoever goes on leaves each job, lock and schedule in one place.
func TestAMoverDiesAnywhere(t *testing.T) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, server redistest.Server) {
		model := newTown(t, server)
		model.settle(t, 6)
		model.work(t, 0, "busy", 1)
		model.work(t, 0, "limited", 1)
		whole := &dying{}
		require.NoError(t, model.to(whole, 3))
		require.NoError(t, model.directory.Refresh(context.Background()))
		model.check(t)
		kinds := map[string]int{}
		for name, n := range whole.seen {
			if name != "" {
				kinds[name] = n
			}
		}
		require.Contains(t, kinds, "partition/freeze")
		require.Contains(t, kinds, "partition/receive")
		require.Contains(t, kinds, "partition/hand_over")
		require.Contains(t, kinds, "partition/keep")
		require.Contains(t, kinds, "limit/define")
		die := func(named string, at int) {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %d after=%v", named, at, after), func(t *testing.T) {
					s := newTown(t, server)
					s.namespace = fmt.Sprintf("%s-%s-%d-%v", s.namespace, named, at, after)
					s.directory = s.another(s.driver)
					s.settle(t, 6)
					_, claims := s.work(t, 0, "busy", 1)
					require.Len(t, claims, 1)
					s.work(t, 0, "limited", 1)
					require.Error(t, s.to(&dying{at: at, named: named, after: after}, 3))
					s.recover(t, 3)
					s.check(t)
					s.held(t)
				})
			}
		}
		if os.Getenv("WORK_RESIZE_LONG") != "" {
			for at := 1; at <= whole.seen[""]; at++ {
				die("", at)
			}
			return
		}
		for name, n := range kinds {
			taking := name == "partition/freeze" || name == "partition/receive" || name == "partition/hand_over"
			few := server.Embedded() != nil || redistest.ShortRace() // the embedded one is slow
			if taking || !few && strings.Contains(name, "/") {
				die(name, (n+1)/2)
			}
		}
	})
}

// held looks whether what workers hold counts where it belongs.
func (s *town) held(t *testing.T) {
	t.Helper()
	m := s.directory.Map()
	for id, queue := range map[string]string{"held": "busy", "l0000": "limited"} {
		var home int
		for i := range m.Len() {
			if i != 0 && len(s.hash(t, i, "foreign")[id]) > 0 {
				home = i
			}
		}
		straggler := s.hash(t, 0, "stragglers")[id]
		if home == 0 {
			assert.Empty(t, straggler)
			continue
		}
		assert.Contains(t, straggler, fmt.Sprintf("%d %s\x00", home, queue))
		if queue == "limited" {
			assert.Contains(t, s.texts(t, s.cmd(t, home, "SMEMBERS", "running:limited")), id)
			again := s.store(t, rdb.NewJob{Queue: "limited", ID: "more", Place: rdb.Back})
			assert.Empty(t, again.Problems)
		} else {
			again := s.store(t, rdb.NewJob{Queue: "busy", ID: "other", Place: rdb.Back,
				Lock: rdb.Lock{Digest: "held-b", Kind: rdb.UntilEnded}})
			assert.Equal(t, rdb.Unique, again.Problems[0], "its lock holds")
		}
	}
}
