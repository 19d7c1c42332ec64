package loss_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/event"
	"github.com/265d0351/work/internal/pooltest"
	"github.com/265d0351/work/internal/redistest"
)

// theater is a Redis with a replica that lags behind, as its clients see them: they reach the one that is the primary
// by a proxy.
type theater struct {
	*kit
	proxy *redistest.Proxy
	photo []photoKey
}

// photoKey is one key of the replica: the command that writes it, and how long it lives, in ms.
type photoKey struct {
	command, name string
	args          []any
	left          int
}

func newTheater(t *testing.T, s redistest.Server) *theater {
	return &theater{kit: newKit(t, s), proxy: redistest.NewProxy(t, s.Addr())}
}

// options are those of a pool whose connections go to whoever is the primary.
func (th *theater) options() work.WorkerOptions {
	options := th.Options()
	options.Connection = th.Via(th.proxy.DSN())
	return options
}

// fallBehind has the replica know all that is there now, and nothing of what comes.
func (th *theater) fallBehind() {
	th.T.Helper()
	th.photo = nil
	th.proxy.Pause() // so that all is of one moment
	defer th.proxy.Resume()
	reads := map[string][]any{"list": {"LRANGE", 0, -1}, "set": {"SMEMBERS"}, "hash": {"HGETALL"},
		"zset": {"ZRANGE", 0, -1, "WITHSCORES"}}
	writes := map[string]string{"list": "RPUSH", "set": "SADD", "hash": "HSET", "zset": "ZADD", "string": "SET"}
	for _, name := range th.Keys() {
		kind := th.Text("TYPE", name)
		key := photoKey{writes[kind], name, nil, th.Number("PTTL", name)}
		switch read := reads[kind]; {
		case kind == "none": // it has expired
		case kind == "string":
			key.args = append(key.args, th.Text("GET", name))
		default:
			members := th.Strings(read[0].(string), name, read[1:]...)
			for i := range members {
				if kind == "zset" { // the score comes first
					key.args = append(key.args, members[i^1])
				} else {
					key.args = append(key.args, members[i])
				}
			}
		}
		if len(key.args) > 0 {
			th.photo = append(th.photo, key)
		}
	}
}

// lose takes keys out of what the replica knows.
func (th *theater) lose(names ...string) {
	th.photo = slices.DeleteFunc(th.photo, func(key photoKey) bool { return slices.Contains(names, key.name) })
}

// failOver makes the replica the primary; meanwhile nobody is heard, and something may happen. All connections end.
func (th *theater) failOver(meanwhile func()) {
	th.T.Helper()
	th.proxy.Pause()
	if meanwhile != nil {
		meanwhile()
	}
	th.Unlink(th.Keys()...)
	for _, key := range th.photo {
		th.Do(key.command, key.name, key.args...)
		if key.left >= 0 {
			th.Do("PEXPIRE", key.name, max(1, key.left))
		}
	}
	th.proxy.Cut()
	th.proxy.Resume()
}

// told awaits the one event that tells of the loss.
func (th *theater) told(want event.DataLost) {
	th.T.Helper()
	want.Failover = true
	got := pooltest.Await[event.DataLost](th.T, th.Spy, nil)
	require.NoError(th.T, got.Err)
	require.Equal(th.T, want, got)
}
