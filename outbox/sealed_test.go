package outbox_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work"
	"github.com/265d0351/work/inspect"
	"github.com/265d0351/work/outbox"
	"github.com/265d0351/work/seal"
)

// Args are sealed in the table already, and a relay that has no key brings them on as they are.
func TestSealedArgsAreSealedInTheTable(t *testing.T) {
	t.Parallel()
	k := newKit(t, sqlite(t), "memory://sealed-outbox")
	sealer, err := seal.New(seal.Keys{Seal: "k1", Known: map[string][]byte{"k1": bytes.Repeat([]byte("1"), 32)}})
	require.NoError(t, err)
	k.box, err = outbox.New(k.d.Dialect, outbox.Table(k.table), outbox.Codecs(sealer))
	require.NoError(t, err)
	receipts := k.enqueue(work.Entry{Name: "charge", Args: []any{"4929-1234"}})
	assert.EqualValues(t, 1, k.number("SELECT COUNT(*) FROM $ WHERE record LIKE '%aes-gcm:k1%'"))
	assert.Zero(t, k.number("SELECT COUNT(*) FROM $ WHERE record LIKE '%4929%'"))
	stop := k.run(k.relay(k.enqueuer(), outbox.RelayOptions{}))
	k.emptied()
	stop()
	inspector, err := inspect.New(k.redis, work.Namespace(k.namespace))
	require.NoError(t, err)
	defer inspector.Close()
	job, err := inspector.Job(t.Context(), receipts[0].ID)
	require.NoError(t, err)
	opener, err := inspect.NewOpener(sealer)
	require.NoError(t, err)
	require.NoError(t, opener.Job(job))
	assert.JSONEq(t, `["4929-1234"]`, string(job.Args))
	_, err = outbox.New(outbox.SQLite, outbox.Codecs(nil))
	assert.ErrorContains(t, err, "option Codecs is nil at index 0")
}
