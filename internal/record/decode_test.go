package record

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzDecodeRecord compares the fast path with encoding/json: it may give up, but not differ.
func FuzzDecodeRecord(f *testing.F) {
	f.Add(
		[]byte(`{"jid":"7zk3vq0m1x9t2c8r5wj4ha","name":"create_watch","args":[1234567890123456,42],"t":1732100000000}`))
	f.Add([]byte(`{"jid":"1","name":"a","args":[1],"t":5,"source":-7,"retries":3,"timeout":1500,"retention":6,"at":6}`))
	for _, args := range []string{`[ 1]`, `["\ud800"]`, `[-]`,
		`[1.]`, `[1e]`, `[-0.5E+7]`, `[{"a":[null,true,false]}]`, "[\"\x80\"]", `[tru]`} {
		f.Add([]byte(`{"jid":"1","name":"a","args":` + args + `,"t":5,"at":012}`))
		f.Add([]byte(`{"jid":"1","name":"a","args":` + args + `,"t":5,"meta":{"a":"b","a":"c","d":""}}`))
		f.Add([]byte(`{"jid":"1","name":"a","args":` + args + `,"t":5,"meta":{,"a":"b"}}`))
		f.Add([]byte(`{"jid":"1","name":"a","args":` + args + `,"t":5,"retries":-1}`))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fast, ok := decodePlainRecord(b, "", "")
		if !ok {
			return
		}
		var want Record
		require.NoError(t, json.Unmarshal(b, &want), "the fast path took what encoding/json refuses")
		assert.Equal(t, want, fast)
	})
}
