package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/265d0351/work/internal/record"
)

func TestTheRecordOfAJobThatIsEnqueuedAgain(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ raw, want string }{
		"a plain one": {`{"jid":"1","name":"n","args":[1.50],"t":5}`,
			`{"jid":"2","name":"n","args":[1.50],"t":100,"again_of":"1"}`},
		"due later": {`{"jid":"1","name":"n","args":[],"t":5,"source":7,"at":90}`,
			`{"jid":"2","name":"n","args":[],"t":100,"source":7,"again_of":"1"}`},
		"what has passed goes": {`{"jid":"1","name":"n","args":[],"t":5,"expires":100,"deadline":7,"tags":["a"]}`,
			`{"jid":"2","name":"n","args":[],"t":100,"tags":["a"],"again_of":"1"}`},
		"what is ahead stays": {`{"jid":"1","name":"n","args":[],"t":5,"expires":101,"deadline":101}`,
			`{"jid":"2","name":"n","args":[],"t":100,"expires":101,"deadline":101,"again_of":"1"}`},
		"what is not known stays": {`{ "jid":"1", "new":{"at":1}, "name":"n","args":[{"t":1}],"t":5 , "at":3}`,
			`{ "jid":"2", "new":{"at":1}, "name":"n","args":[{"t":1}],"t":100,"again_of":"1"}`},
		"again and again": {`{"jid":"1","name":"n","args":[],"t":5,"again_of":"0"}`,
			`{"jid":"2","name":"n","args":[],"t":100,"again_of":"1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			again, err := record.Again([]byte(row.raw), "2", 100)
			require.NoError(t, err)
			assert.Equal(t, row.want, string(again))
		})
	}
	for _, raw := range []string{``, `{}`, `{"jid":"1","name":"n","args":7,"t":5}`, `{"at":1,"jid":"1","name":"n","args":[],"t":5}`} {
		_, err := record.Again([]byte(raw), "2", 100)
		require.Error(t, err, "%s", raw)
	}
}
