package codecs_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/internal/enginetest"
	"github.com/265d0351/work/internal/redistest"
	"github.com/265d0351/work/seal"
)

func TestMain(m *testing.M) { redistest.Main(m) }

type kit struct{ *enginetest.Kit }

func newKit(t *testing.T, s redistest.Server) *kit { return &kit{enginetest.NewKit(t, s)} }

// secret is what nobody may read in Redis.
const secret = "4929-1234-5678-9012"

var locks = bytes.Repeat([]byte{7}, 32)

// keys are some that differ by their ids.
func keys(sealing string, known ...string) seal.Keys {
	k := seal.Keys{Seal: sealing, Known: map[string][]byte{}, Locks: locks}
	for _, id := range known {
		k.Known[id] = bytes.Repeat([]byte(id[len(id)-1:]), 32)
	}
	return k
}

// sealer seals with the first of some keys.
func sealer(t *testing.T, known ...string) *seal.Sealer {
	t.Helper()
	s, err := seal.New(keys(known[0], known...))
	require.NoError(t, err)
	return s
}

// enqueuer is one with codecs, in the namespace of the kit.
func (k *kit) enqueuer(codecs ...work.Codec) *work.Enqueuer {
	k.T.Helper()
	enq, err := work.NewEnqueuer(k.Server.DSN(), work.Namespace(k.Namespace), work.Codecs(codecs...))
	require.NoError(k.T, err)
	k.T.Cleanup(func() { _ = enq.Close() })
	return enq
}

// options are those of a pool with codecs.
func (k *kit) options(codecs ...work.Codec) work.WorkerOptions {
	o := k.Options()
	o.Codecs = codecs
	return o
}

// enqueue enqueues a job that must be stored.
func (k *kit) enqueue(enq *work.Enqueuer, name string, args ...any) string {
	k.T.Helper()
	receipt, err := enq.Enqueue(k.Ctx(), name, args...)
	require.NoError(k.T, err)
	return receipt.ID
}

// everything is all that is in the namespace, as text.
func (k *kit) everything() string {
	k.T.Helper()
	var all strings.Builder
	for _, key := range k.Keys() {
		all.WriteString(key + "\n")
		var found any
		switch kind := k.Text("TYPE", key); kind {
		case "string":
			found = k.Text("GET", key)
		case "list":
			found = k.Strings("LRANGE", key, 0, -1)
		case "set":
			found = k.Strings("SMEMBERS", key)
		case "zset":
			found = k.Strings("ZRANGE", key, 0, -1)
		case "hash":
			found = k.Strings("HGETALL", key)
		case "none":
		default:
			k.T.Fatalf("key %s is a %s", key, kind)
		}
		fmt.Fprintln(&all, found)
	}
	return all.String()
}

// atOnce lets a job that failed run again at once.
func atOnce(*work.Job, error) time.Duration { return 0 }
