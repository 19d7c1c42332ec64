package worqr

import (
	"bytes"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// FuzzDone: whatever is published can be read, and what we publish says the same bytes.
func FuzzDone(f *testing.F) {
	f.Add([]byte(`{"workerId":"w","task":"t","result":"r"}`), []byte("r"))
	f.Add([]byte(`{"task":1}`), []byte{})
	f.Add([]byte("\xff\x00"), []byte("\xff"))
	f.Fuzz(func(t *testing.T, message, result []byte) {
		decodeDone("q", message)
		d := decodeDone("q", doneBytes("w", message, result))
		assert.True(t, bytes.Equal(message, d.Task))
		text, ok := d.Text()
		assert.True(t, bytes.Equal(result, text))
		assert.Equal(t, result != nil, ok)
		assert.Equal(t, result == nil, d.Result == nil)
	})
}

func TestDoneOfTextIsWhatTheReleasedProgramSends(t *testing.T) {
	t.Parallel()
	message := doneBytes("w", []byte("täsk <1>"), nil)
	assert.True(t, utf8.Valid(message))
	assert.NotContains(t, string(message), "Base64")
	assert.Equal(t, Done{Queue: "q", Task: []byte("no JSON")}, decodeDone("q", []byte("no JSON")))
}

func TestQueueOfAProcess(t *testing.T) {
	t.Parallel()
	for _, queue := range []string{"q", "a_b", "_", "a:b"} {
		of, err := queueOf(processID(queue))
		assert.NoError(t, err)
		assert.Equal(t, queue, of)
	}
	for _, id := range []string{"", "_", "q_", "q_1", "q", processID("")} {
		_, err := queueOf(id)
		assert.ErrorIs(t, err, ErrProcessGone, id)
	}
}
